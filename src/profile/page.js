/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is done when something is chosen, the address that it can be come back
 * to with, and the start. What flows: the recording (page_data.js, read once),
 * what is picked of it (page_pick.js), and the views of that.
 *
 * For tests there is window.forkflame; documented where it is made.
 */
const PROCESSES_MOST = 40; // with more, the graph starts with roles
const TABS = ["flame", "functions", "pools", "summary"];

/* ---- What is shown ----------------------------------------------------- */

function showTotals() {
	const { measure } = settings;
	const total = totalOf(measure);
	const all = recordedTotal(measure);

	byId("total").textContent = valueText(total, measure);
	byId("total-what").textContent = MEASURES[measure] +
		(Math.abs(all - total) > 1 ? ", " + shareText(total, all) +
		" of the recording" : "");
}

function showPicked() {
	const parts = [];
	const n = pick.processes.size;

	if (n === 1)
		parts.push(processText([...pick.processes][0]));
	else if (n)
		parts.push(plural(n, "process", "processes"));
	if (pick.threads.size === 1)
		parts.push(threadText([...pick.threads][0]));
	else if (pick.threads.size)
		parts.push(plural(pick.threads.size, "thread", "threads"));
	if (!isWholeTime())
		parts.push(timeText(pick.until - pick.from));
	byId("picked").textContent = parts.length ?
		"Selected: " + parts.join(", ") : "";
	const seconds = (us, whole) => us === whole ? "" :
		(us / 1e6).toFixed(3).replace(/\.?0+$/, "");
	byId("since").value = seconds(pick.from, profile.from);
	byId("till").value = seconds(pick.until, profile.until);
	showRangeButtons();
}

function showControls() {
	for (const measure of MEASURE_NAMES)
		byId(measure).setAttribute("aria-pressed",
			settings.measure === measure);
	for (const name of SWITCHES)
		byId(name).setAttribute("aria-pressed", settings[name]);
	byId("group").value = settings.group;
	byId("frames").value = settings.frames;
	byId("scaled").hidden = !settings.diff;
	byId("diff-legend").hidden = !settings.diff;
	for (const tab of TABS) {
		const on = settings.tab === tab;
		const button = byId("tab-" + tab);
		button.setAttribute("aria-selected", on);
		button.tabIndex = on ? 0 : -1;
		byId("panel-" + tab).hidden = !on;
	}
}

function showSearch() {
	const text = byId("matched");

	text.parentElement.classList.toggle("found", !!search.test);
	text.replaceChildren();
	graph.matched = null;
	if (!search.test)
		return;
	const weight = matchedWeight();
	graph.matched = weight / (totalOf(settings.measure) || 1);
	if (weight)
		text.append(element("b", "", shareText(weight,
			totalOf(settings.measure))), " matched");
	else
		text.append("no match");
	byId("search").title = search.broken ?
		"Not a regular expression: taken as it stands" : "";
}

/* All that depends on what is picked, anew. */
function refresh(path) {
	nodes = gatherNodes();
	showControls();
	showTotals();
	showPicked();
	showSearch();
	rebuildGraph(path || (graph.zoomed ? pathOf(graph.zoomed) : []));
	table.shown = ROWS_AT_ONCE;
	refreshTable();
}

/* What is picked has changed; @step: as a step that can be undone. */
function picked(step) {
	clearTimeout(picked.timer);
	picked.timer = 0;
	refresh();
	saveState(step);
}

/* While it is dragged: as often as there is time for. */
function pickedLater() {
	showPicked();
	picked.timer ||= setTimeout(() => {
		const begun = performance.now();
		picked.timer = 0;
		refresh();
		// Half of the time for dragging on, however long it takes.
		picked.pause = Math.max(performance.now() - begun, 30);
	}, picked.pause || 30);
}

function setQuery(query) {
	query = query.trim();
	if (byId("search").value.trim() !== query)
		byId("search").value = query;
	setSearch(query);
	showSearch();
	table.shown = ROWS_AT_ONCE;
	if (settings.tab === "functions")
		showTable();
	saveState(false);
	repaint();
}

function setMeasure(measure) {
	if (measure === settings.measure)
		return;
	settings.measure = measure;
	refresh();
	saveState(true);
}

/* A comparison needs groups that both runs have. */
function fitGroup() {
	if (settings.diff && !["role", "all"].includes(settings.group))
		settings.group = "role";
}

function toggle(name) {
	settings[name] = !settings[name];
	fitGroup();
	refresh(name === "inverted" ? [] : undefined);
	saveState(true);
}

function setTab(tab, focus) {
	settings.tab = tab;
	showControls();
	if (tab === "functions" && table.stale)
		refreshTable();
	if (tab === "flame")
		resizeGraph();
	if (focus)
		byId("tab-" + tab).focus();
	saveState(true);
}

/* ---- Keyboard and the rest --------------------------------------------- */

function escape() {
	lanes.words = "";
	if (graph.zoomed.up)
		zoomTo(graph.tree.root);
	else if (search.test)
		setQuery("");
	else if (!isWholeTime() || isAnyPicked())
		clearPick();
	graph.focused = null;
	hideTip();
	showDetails();
	repaint();
}

function onKey(event) {
	if (event.ctrlKey || event.metaKey || event.altKey)
		return;
	const typing = event.target.matches("input, select");
	if (event.target === byId("search") && event.key === "Escape") {
		setQuery("");
		byId("search").blur();
	} else if (typing) {
		return;
	} else if (event.key === "/") {
		byId("search").focus();
	} else if (event.key === "Escape") {
		escape();
	} else if (event.key === "Backspace") {
		zoomTo(graph.zoomed.up || graph.zoomed);
	} else {
		return;
	}
	event.preventDefault();
}

/* Wait until typing pauses: each search looks at every frame and node. */
function onType() {
	clearTimeout(onType.timer);
	onType.timer = setTimeout(() => setQuery(byId("search").value), 80);
}

/* The height of the lanes, by dragging or the keyboard. */
function setLanesHeight(height) {
	const most = Math.max(window.innerHeight - 260, 80);
	const bound = Math.round(Math.min(Math.max(height, 60), most));
	lanesView.style.height = bound + "px";
	byId("split").setAttribute("aria-valuenow", bound);
	byId("split").setAttribute("aria-valuemax", most);
}

function listenSplit() {
	const split = byId("split");
	let from = null;

	split.addEventListener("pointerdown", (event) => {
		from = { y: event.clientY, height: lanesView.clientHeight };
		split.setPointerCapture(event.pointerId);
		event.preventDefault();
	});
	split.addEventListener("pointermove", (event) => {
		if (!from)
			return;
		lanes.chosen = true;
		setLanesHeight(from.height + event.clientY - from.y);
	});
	split.addEventListener("pointerup", () => {
		from = null;
	});
	split.addEventListener("keydown", (event) => {
		const step = { ArrowUp: -24, ArrowDown: 24 }[event.key];
		if (!step)
			return;
		lanes.chosen = true;
		setLanesHeight(lanesView.clientHeight + step);
		event.preventDefault();
	});
}

function listenTabs() {
	TABS.forEach((tab, i) => {
		const button = byId("tab-" + tab);
		button.addEventListener("click", () => setTab(tab));
		button.addEventListener("keydown", (event) => {
			const step = { ArrowLeft: -1,
				ArrowRight: 1 }[event.key];
			if (!step)
				return;
			setTab(TABS[(i + step + TABS.length) % TABS.length],
				true);
			event.preventDefault();
		});
	});
}

function showTheme() {
	readTheme();
	byId("theme").textContent = { auto: "Auto", light: "Light",
		dark: "Dark" }[savedTheme.now];
	if (!graph.tree)
		return;
	repaint();
	repaintLanes();
}

function listenTheme() {
	byId("theme").addEventListener("click", () => {
		savedTheme.now = { auto: "light", light: "dark",
			dark: "auto" }[savedTheme.now];
		setTheme(savedTheme.now);
		showTheme();
	});
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change",
		showTheme);
	// Paper is light. The canvases are painted for it, and back again.
	window.addEventListener("beforeprint", () => {
		document.documentElement.dataset.theme = "light";
		readTheme();
		paint();
		paintLanes();
	});
	window.addEventListener("afterprint", () => {
		setTheme(savedTheme.now);
		showTheme();
	});
}

function listen() {
	for (const measure of MEASURE_NAMES)
		byId(measure).addEventListener("click",
			() => setMeasure(measure));
	for (const name of SWITCHES)
		byId(name).addEventListener("click", () => toggle(name));
	for (const name of ["group", "frames"])
		byId(name).addEventListener("change", () => {
			settings[name] = byId(name).value;
			if (name === "group" &&
			    !["role", "all"].includes(settings.group))
				settings.diff = false;
			refresh([]);
			saveState(true);
		});
	byId("reset").addEventListener("click",
		() => zoomTo(graph.tree.root));
	byId("search").addEventListener("input", onType);
	document.addEventListener("keydown", onKey);
	// Both ways: Back and Forward, and an address that was typed.
	window.addEventListener("popstate", () => refresh(loadState()));
	window.addEventListener("resize", () => setLanesHeight(
		lanes.chosen ? lanesView.clientHeight : fittingHeight()));
	listenGraph();
	listenLanes();
	listenSplit();
	listenTabs();
	listenTheme();
}

/*
 * For tests, and for whoever opens the console. state() tells what is shown;
 * blocks() where each block of the flame graph is, lanes() where each lane that
 * is in view is, in pixels of the page. All are copies.
 */
function expose(started) {
	const graphBox = () => canvas.getBoundingClientRect();
	const state = () => ({
		...settings,
		total: totalOf(settings.measure),
		zoomed: nameOf(graph.zoomed),
		depth: graph.zoomed.depth,
		gliding: !!graph.glide || !!picked.timer,
		matched: graph.matched,
		blocks: graph.blocks,
		nodes: nodes.n,
		from: pick.from, until: pick.until,
		processes: pick.processes.size, threads: pick.threads.size,
		started,	// milliseconds, until the first picture
	});
	const blocks = () => graph.rows.flatMap((row, depth) => row.filter(
		(item) => item.block).map((item) => ({
		name: nameOf(item.block),
		place: placeOf(item.block, false),
		depth,
		x: item.x + graphBox().left,
		y: rowTop(depth) + graphBox().top,
		width: item.width,
		height: ROW - 2,
		value: item.block.now,
		base: item.block.base,
		self: item.block.self,
		matched: matches(item.block),
	})));
	const laneRows = () => {
		const box = lanesCanvas.getBoundingClientRect();
		return rows.list.map((row) => ({
			name: rowName(row), kind: row.kind, depth: row.depth,
			x: box.left + lanes.gutter,
			width: lanes.width - lanes.gutter,
			y: box.top + AXIS + row.top - lanesView.scrollTop,
			height: row.height, open: !!row.open,
			members: row.members.length,
		})).filter((row) => row.y + row.height > box.top + AXIS &&
			row.y < box.bottom);
	};

	window.forkflame = Object.freeze({ state, blocks, lanes: laneRows });
}

function fittingHeight() {
	const room = Math.max(window.innerHeight - 200, 200);
	return Math.min(rows.height + AXIS + 4, room * 0.42);
}

function start() {
	savedTheme.now = savedTheme();
	if (savedTheme.now === "auto")
		readTheme();
	else
		setTheme(savedTheme.now);
	showTheme();
	showFacts();
	showSummary();
	showPools();
	byId("gil").hidden = !profile.has_gil;
	byId("diff").hidden = !profile.base;
	byId("group-host").hidden = hostCount < 2;
	const usual = usualSettings();
	showNote(usual.measure === profile.value ? "" :
		"No " + (MEASURES[profile.value] || "such time") +
		" was recorded in this run: this is wall time.");
	makeRows();
	const path = loadState();
	setLanesHeight(fittingHeight());
	fitCanvas(lanesCanvas, lanesView, lanes);
	layoutLanes();
	fitCanvas(canvas, view, graph);
	refresh(path);
	listen();
	// After the first painting, which refresh has asked for.
	requestAnimationFrame(() => expose(performance.now()));
}

start();
