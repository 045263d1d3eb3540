/* SPDX-License-Identifier: Apache-2.0 */
/* Roles: the processes that one parent forked with one command line. */

const WAITS = { gil: "the GIL", lock: "locks", pipe: "pipes",
	socket: "sockets", file: "files", poll: "several things (poll)",
	time: "time to pass (sleep)", process: "other processes",
	signal: "signals", other: "other things", unknown: "unknown" };

const fromNs = (ns) => timeText(ns / 1e3);

function svgElement(name, attributes) {
	const made = document.createElementNS("http://www.w3.org/2000/svg",
		name);
	for (const [key, value] of Object.entries(attributes))
		made.setAttribute(key, value);
	return made;
}

/* How many members were alive, as a small area. */
function aliveCurve(role) {
	const most = Math.max(...role.alive, 1);
	const n = role.alive.length;
	const svg = svgElement("svg", { viewBox: `0 0 ${n} 24`, class: "curve",
		preserveAspectRatio: "none", role: "img",
		"aria-label": `Members over time, at most ${role.at_once}` });
	const points = role.alive.map((alive, i) => {
		const y = (24 - 22 * alive / most).toFixed(2);
		return `${i},${y} ${i + 1},${y}`;
	}).join(" ");

	svg.append(svgElement("polygon", { points: `0,24 ${points} ${n},24` }));
	return svg;
}

/* Shares of the members' time as one bar with a legend. */
function timeBar(role) {
	const waits = Object.entries(role.waits || {})
		.filter(([key]) => key !== "gil");
	const waited = waits.reduce((sum, [, ns]) => sum + ns, 0);
	const parts = [["on-cpu", "on CPU", role.cpu_ns],
		["ready", "ready, without a CPU", role.ready_ns || 0],
		["gil-wait", "waiting for the GIL", role.gil_wait_ns],
		["waiting", "waiting for others", waited]]
		.filter(([, , ns]) => ns > 0);
	const whole = Math.max(parts.reduce((sum, [, , ns]) => sum + ns, 0), 1);
	const bar = element("div", "time-bar");
	const legend = element("div", "legend");

	for (const [name, words, ns] of parts) {
		const part = element("span", name);
		part.style.flexGrow = String(ns / whole);
		bar.append(part);
		const item = element("span", "");
		item.append(element("i", name),
			`${shareText(ns, whole)} ${words}`);
		legend.append(item);
	}
	bar.setAttribute("aria-hidden", "true");
	const box = element("div", "");
	box.append(bar, legend);
	return box;
}

function factRows(role) {
	const percent = (share) => (100 * share).toFixed(share < 0.1 ? 1 : 0) +
		" %";
	const rows = [["On-CPU share", `${percent(role.cpu_share_mean)} ± ${
		percent(role.cpu_share_spread)}`]];

	if (role.members > 1 && role.cpu_least && role.cpu_most)
		rows.push(["Least and most", `${role.cpu_least.pid}: ${
			percent(role.cpu_least.share)}, ${role.cpu_most.pid}: ${
			percent(role.cpu_most.share)}`]);
	rows.push(["Members", `${countText(role.members)}, at most ${
		countText(role.at_once)} at once`]);
	if (role.start_known)
		rows.push(["Start-up",
			fromNs(role.start_mean_ns) + " a member"]);
	if (role.exits)
		rows.push(["Turnover", `${role.turnover.toFixed(1)} ends ` +
			"a member and minute"]);
	if (role.stragglers && role.straggle_ns)
		rows.push(["Stragglers", `${plural(role.stragglers, "member",
			"members")}, waited for ${fromNs(role.straggle_ns)}`]);
	if (role.exits)
		rows.push(["Ends", `${countText(role.exits)}, of these ` +
			`${countText(role.bad_exits)} with a bad status, ` +
			`${countText(role.signals)} by a signal`,
			role.bad_exits + role.signals > 0]);
	return rows;
}

function waitRows(role) {
	const rows = [];
	for (const leaf of role.leaves || [])
		rows.push([shown(leaf.function) || "(no name)",
			`${fromNs(leaf.wall_ns)} for ${WAITS[leaf.wait] ||
				shown(leaf.wait)}`,
			shown(leaf.file)]);
	return rows;
}

function factTable(caption, list) {
	const made = element("table", "facts");
	const body = document.createElement("tbody");
	for (const [name, value, more] of list) {
		const row = document.createElement("tr");
		const isFile = typeof more === "string";
		const head = element("th", isFile ? "code" : "", name);
		head.scope = "row";
		if (isFile)
			head.title = more;
		row.append(head, element("td", more === true ? "bad" : "",
			value));
		body.append(row);
	}
	made.append(element("caption", "", caption), body);
	return made;
}

function pickRole(role) {
	const numbers = new Set(role.processes);
	pick.processes.clear();
	pick.threads.clear();
	processes.number.forEach((number, process) => {
		if (numbers.has(number))
			pick.processes.add(process);
	});
	pickChanged();
	repaintLanes();
	picked(true);
}

function roleCard(role) {
	const card = element("article", "card");
	const title = element("h3", "code", shown(role.command) ||
		"(no command line)");
	const waits = waitRows(role);

	title.title = title.textContent;
	card.append(title, element("p", "dim", plural(role.members, "process",
		"processes") + (role.parent_pid === null ? "" :
		", started by " + role.parent_pid)));
	if (role.reading)
		card.append(element("p", "reading", shown(role.reading)));
	card.append(aliveCurve(role), timeBar(role),
		factTable("In figures", factRows(role)));
	if (waits.length)
		card.append(factTable("Where they waited", waits));
	const button = element("button", "", "Select these processes");
	button.type = "button";
	button.addEventListener("click", () => pickRole(role));
	card.append(button);
	return card;
}

function showPools() {
	const box = byId("pools");
	const roles = profile.roles || [];
	const pools = roles.filter((role) => role.members > 1);
	const list = (pools.length ? pools : roles).slice(0, 60);

	box.replaceChildren(...list.map(roleCard));
	if (!list.length)
		box.append(element("p", "dim", "No processes."));
	if (roles.length > list.length)
		box.append(element("p", "dim rest", plural(
			roles.length - list.length, "more role", "more roles") +
			" with a single process or less time."));
}
