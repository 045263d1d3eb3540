/* SPDX-License-Identifier: Apache-2.0 */
/* What is said about a block: in the tip and in the line at the foot. */

/* "lines 12 (61 %), 40 (39 %)" of a function's block, or "". */
function linesText(block) {
	if (block.key < 0 || !block.up || onlyLine(block) ||
	    settings.frames === "file")
		return "";
	const from = (settings.inverted ? nodes.own :
		nodes.total)[settings.measure];
	const weights = new Map();
	places(block).forEach((node, i) => {
		const line = lineOf(stacks.frame[nodes.stack[node]]);
		weights.set(line, (weights.get(line) || 0) +
			from[block.nodes[i]]);
	});
	const lines = [...weights].sort((a, b) => b[1] - a[1]);
	if (lines.length < 2)
		return "";
	return "lines " + lines.slice(0, 4).map(([line, weight]) =>
		`${line} (${shareText(weight, block.now)})`).join(", ") +
		(lines.length > 4 ? ", …" : "");
}

/* An end as one reads it, or "". */
function endText(process) {
	if (!processes.ended[process])
		return "lived on";
	const status = processes.status[process];
	return status < 0 ? "ended" : statusText(status);
}

function lifeText(process) {
	const parts = [];
	const list = profile.imagesOf[process];
	const python = list.length ?
		profile.strings[images.python[list[list.length - 1]]] : "";
	const parent = processes.parent[process];

	if (python)
		parts.push("Python " + python);
	if (parent >= 0)
		parts.push("child of " + processes.pid[parent]);
	if (processes.ns_pid[process] &&
	    processes.ns_pid[process] !== processes.pid[process])
		parts.push(`${processes.ns_pid[process]} in its container`);
	parts.push((processes.before[process] ? "there before the run" :
		"from " + timeText(processes.born[process])) +
		" to " + timeText(processes.left[process]));
	parts.push(endText(process));
	return parts.join(" · ");
}

function whereText(block) {
	if (!block.up)
		return "";
	if (block.key >= 0)
		return placeOf(block, true);
	const group = -2 - block.key;
	if (block.key === OUTSIDE || isHost(block.key))
		return "";
	if (settings.group === "process")
		return images.process[group] === undefined ? "" :
			lifeText(images.process[group]);
	return settings.group === "thread" ?
		lifeText(threads.process[group]) : "";
}

function fillTip(tip, block) {
	const list = document.createElement("dl");
	const add = (term, first, second, measure) => {
		const name = measure === settings.measure ? "measure" : "";
		list.append(element("dt", name, term),
			element("dd", name, first),
			element("dd", name, second));
	};

	tip.replaceChildren(element("div", "function", nameOf(block)));
	for (const text of [whereText(block), linesText(block)])
		if (text)
			tip.append(element("div", "dim", text));
	for (const measure of MEASURE_NAMES) {
		if (measure === "gil" && !profile.has_gil)
			continue;
		const value = measureOf(block, measure);
		add(MEASURES[measure], valueText(value, measure),
			shareText(value, totalOf(measure)), measure);
	}
	if (!settings.inverted)
		add("self, " + MEASURES[settings.measure],
			valueText(block.self, settings.measure),
			shareText(block.self, graph.tree.root.now));
	if (settings.diff) {
		add("in the base", valueText(block.base, settings.measure),
			shareText(block.base, graph.tree.root.base));
		add("change", changeText(block), block.base ?
			(block.now / block.base).toFixed(2) + " ×" : "new");
	}
	tip.append(list);
}

function placeTip(tip, x, y) {
	const width = tip.offsetWidth;
	const height = tip.offsetHeight;
	const left = Math.min(x + 14, window.innerWidth - width - 12);
	const below = y + 18 + height < window.innerHeight;

	tip.style.left = Math.max(left, 8) + "px";
	tip.style.top = Math.max(below ? y + 18 : y - height - 12, 8) + "px";
}

function hideTip() {
	byId("tip").hidden = true;
}

const HINT = "Click a block to zoom. “/” searches, Backspace zooms out, " +
	"Esc shows everything. Drag over the lanes to select a time, click " +
	"one to select a process: Ctrl adds it, Alt takes its children too.";

/* The line at the foot, which can be selected and copied. */
function showDetails() {
	const box = byId("details");
	const block = graph.over || graph.focused;

	if (lanes.words) {
		box.replaceChildren(element("span", "", lanes.words));
		return;
	}
	if (!block) {
		box.replaceChildren(element("span", "dim",
			matchMedia("(hover: none)").matches ?
				"Tap a block to zoom." : HINT));
		return;
	}
	const parts = [element("span", "function", nameOf(block))];
	const where = whereText(block);
	if (where)
		parts.push(element("span", "dim", where));
	parts.push(element("span", "", valueText(block.now, settings.measure) +
		" " + MEASURES[settings.measure] + ", " +
		shareText(block.now, graph.tree.root.now)));
	if (settings.diff)
		parts.push(element("span", "", changeText(block) +
			" against the base"));
	if (!settings.inverted)
		parts.push(element("span", "dim",
			"self " + valueText(block.self, settings.measure) +
			", " + shareText(block.self, graph.tree.root.now)));
	box.replaceChildren(...parts);
}
