/* SPDX-License-Identifier: Apache-2.0 */
/* The head of the page, and the counts of the run: nothing is left unsaid. */

function summaryValue(key, value) {
	const unit = /_(ns|us|ms)$/.exec(key);
	if (typeof value === "number" && unit)
		return timeText(value * { ns: 1e-3, us: 1, ms: 1e3 }[unit[1]]);
	if (typeof value === "number")
		return value.toLocaleString("en", { maximumFractionDigits: 3 });
	if (typeof value === "boolean")
		return value ? "yes" : "no";
	return shown(String(value));
}

function summaryName(key) {
	const name = shown(key).replace(/_(ns|us|ms)$/, "")
		.replaceAll("_", " ")
		.replace(/\boncpu\b/g, "on-CPU")
		.replace(/\bcpu\b/g, "CPU")
		.replace(/\bpython\b/g, "Python");
	return name.slice(0, 1).toUpperCase() + name.slice(1);
}

/* An object's own values as a table, each object in it as one more of them. */
function addSummary(box, title, object) {
	const made = document.createElement("table");
	const body = document.createElement("tbody");

	if (title)
		made.append(element("caption", "", summaryName(title)));
	made.append(body);
	box.append(made);
	for (const [key, value] of Object.entries(object)) {
		if (value === null)
			continue;
		const isObject = typeof value === "object";
		if (isObject && !Array.isArray(value)) {
			addSummary(box, key, value);
			continue;
		}
		const row = document.createElement("tr");
		const head = element("th", "", summaryName(key));
		head.scope = "row";
		row.append(head, element("td", "", isObject ?
			shown(JSON.stringify(value)) :
			summaryValue(key, value)));
		body.append(row);
	}
	if (!body.childElementCount)
		made.remove();
}

const ENDS = {
	whole: "complete",
	running: "not ended in order: the profiler was killed or still ran",
	cut: "cut off: the file ends in the middle",
	damaged: "damaged: only what comes before the damage was read",
};

const dateText = (run) => run.unix_ms ? new Date(run.unix_ms)
	.toLocaleString([], { dateStyle: "medium", timeStyle: "short" }) : "";

function runFacts(run) {
	const facts = {};
	const put = (key, value) => {
		if (value)
			facts[key] = value;
	};

	put("Host", shown(run.host));
	put("Command", shown(run.title));
	put("Started", dateText(run));
	put("Length", timeText(run.end_at - run.shift));
	put("Interval", timeText(run.interval));
	put("CPUs", run.cpus);
	put("Births from", shown(run.events));
	put("On-CPU from", shown(run.oncpu));
	put("Version of forkflame", shown(run.version));
	put("Recording", ENDS[run.end]);
	if (run.good < run.size)
		put("Read", `${countText(run.good)} of ${
			countText(run.size)} bytes`);
	return facts;
}

function summaryOf(run) {
	try {
		const summary = JSON.parse(run.summary);
		return summary && typeof summary === "object" ? summary : null;
	} catch {
		return null; // it must not cost the page
	}
}

function showSummary() {
	const box = byId("summary-tables");

	profile.runs.forEach((run, i) => {
		const title = profile.runs.length > 1 ? `Run ${i + 1}` : "Run";
		addSummary(box, title, runFacts(run));
		const summary = summaryOf(run);
		if (summary)
			addSummary(box, "Counts", summary);
	});
	if (!profile.notes.length)
		return;
	const made = element("table", "");
	const body = document.createElement("tbody");
	for (const note of profile.notes.slice(0, 500)) {
		const row = document.createElement("tr");
		row.append(element("th", "", timeText(note.at)),
			element("td", "", noteText(note)));
		body.append(row);
	}
	made.append(element("caption", "", "Notes"), body);
	box.append(made);
}

function showFacts() {
	const pythons = [...new Set(images.python)]
		.map((id) => profile.strings[id]).filter(Boolean);
	const hosts = [...new Set(profile.runs.map((run) => shown(run.host)))]
		.filter(Boolean);
	const parts = [plural(profile.processCount, "process", "processes") +
		(livelyCount < profile.processCount ?
			`, ${countText(livelyCount)} sampled` : ""),
		plural(recordedTotal("samples"), "sample", "samples"),
		timeText(profile.until - profile.from)];

	if (pythons.length && pythons.length < 4)
		parts.push("Python " + pythons.join(", "));
	if (hosts.length && hosts.length < 4)
		parts.push(hosts.join(", "));
	if (profile.runs.length && dateText(profile.runs[0]))
		parts.push(dateText(profile.runs[0]));
	byId("title").textContent = profile.title || "forkflame";
	byId("title").title = profile.title;
	byId("facts").textContent = parts.join(" · ");
	document.title = (profile.title ? profile.title + " · " : "") +
		"forkflame";
}

/* What one has to know before believing anything else on the page. */
function showNote(extra) {
	const parts = [];
	const lost = profile.notes.filter((note) => note.kind === 1);
	const bad = profile.runs.filter((run) => run.end !== "whole");

	if (extra)
		parts.push(extra);
	if (bad.length)
		parts.push((profile.runs.length > 1 ?
			`${bad.length} of ${profile.runs.length} recordings: ` :
			"The recording is ") + ENDS[bad[0].end] + ".");
	if (lost.length) {
		const n = lost.reduce((sum, note) => sum + note.value, 0);
		parts.push((n ? plural(n, "event was", "events were") :
			"Events were") + " lost: processes may be missing " +
			"or were found late.");
	}
	byId("note").hidden = !parts.length;
	byId("note").textContent = parts.join(" ");
}
