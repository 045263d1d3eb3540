/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of functions, and beside it what is known of one: the processes
 * that it ran in, and its lines with their weights, with their text where the
 * recording's source was there when the page was made.
 */
const ROWS_AT_ONCE = 200;
const AROUND = 3; // lines shown before and after those that weigh something

const table = {
	rows: [],
	sort: "self",
	down: true,
	shown: ROWS_AT_ONCE,
	chosen: -1,	// frame (of groups.function), or -1
	stale: true,
};

/* ---- Weights by function ----------------------------------------------- */

let firstOnStack = null;

/*
 * Of each stack: 1 when its innermost function is not also a caller of it, so
 * that a recursive function counts once.
 */
function findFirsts() {
	const group = profile.groups.function;
	const depth = new Int32Array(frames.n); // how often on the path
	const kids = new Int32Array(stacks.n).fill(-1);
	const next = new Int32Array(stacks.n).fill(-1);

	firstOnStack = new Uint8Array(stacks.n);
	for (let i = stacks.n - 1; i > 0; i--) {
		next[i] = kids[stacks.parent[i]];
		kids[stacks.parent[i]] = i;
	}
	// Depth first, without recursion: down, across, up.
	for (let at = kids[0]; at > 0;) {
		const its = group[stacks.frame[at]];
		if (!depth[its]++)
			firstOnStack[at] = 1;
		if (kids[at] >= 0) {
			at = kids[at];
			continue;
		}
		for (;;) {
			depth[group[stacks.frame[at]]]--;
			if (next[at] >= 0) {
				at = next[at];
				break;
			}
			at = stacks.parent[at];
			if (at <= 0)
				return;
		}
	}
}

/* Own and total weight of each stack in what is picked, all groups together. */
function stackWeights(measure, own) {
	const weights = new Float64Array(stacks.n);
	for (let i = 0; i < nodes.n; i++)
		weights[nodes.stack[i]] += own[measure][i];
	const total = weights.slice();
	for (let i = stacks.n - 1; i > 0; i--)
		total[stacks.parent[i]] += total[i];
	return { own: weights, total };
}

function functionRows() {
	const measure = settings.measure;
	const group = profile.groups.function;
	const weights = stackWeights(measure, nodes.own);
	const scale = baseScale(measure);
	const base = scale ? stackWeights(measure, nodes.base) : null;
	const rowOf = new Map();

	if (!firstOnStack)
		findFirsts();
	for (let i = 1; i < stacks.n; i++) {
		const before = base ? base.total[i] * scale : 0;
		if (!weights.total[i] && !before)
			continue;
		const frame = group[stacks.frame[i]];
		let row = rowOf.get(frame);
		if (!row) {
			row = { frame, self: 0, total: 0, base: 0,
				name: functionOf(frame) || "(no name)",
				file: fileOf(frame) };
			rowOf.set(frame, row);
		}
		row.self += weights.own[i];
		if (firstOnStack[i])
			row.total += weights.total[i];
		if (base)
			row.base += base.own[i] * scale;
	}
	const list = [...rowOf.values()];
	for (const row of list)
		row.change = row.self - row.base;
	return list;
}

/* ---- The table --------------------------------------------------------- */

const COLUMNS = [
	{ key: "name", title: "Function", text: true },
	{ key: "file", title: "File", text: true },
	{ key: "self", title: "Self" },
	{ key: "total", title: "Total" },
	{ key: "change", title: "Change of self", diff: true },
];

function sortedRows() {
	const { sort, down } = table;
	const sign = down ? -1 : 1;
	const list = search.test ? table.rows.filter((row) =>
		search.test(row.name + " " + row.file)) : table.rows.slice();

	list.sort((a, b) => {
		const x = sort === "change" ? Math.abs(a.change) : a[sort];
		const y = sort === "change" ? Math.abs(b.change) : b[sort];
		const order = typeof x === "string" ? x < y ? -1 : +(x > y) :
			x - y;
		return sign * order || b.self - a.self || a.frame - b.frame;
	});
	return list;
}

function headRow() {
	const row = document.createElement("tr");
	for (const column of COLUMNS) {
		if (column.diff && !settings.diff)
			continue;
		const cell = element("th", column.text ? "" : "number");
		const button = element("button", "plain", column.title);
		button.type = "button";
		cell.scope = "col";
		if (table.sort === column.key)
			cell.setAttribute("aria-sort",
				table.down ? "descending" : "ascending");
		button.addEventListener("click", () => {
			table.down = table.sort === column.key ?
				!table.down : !column.text;
			table.sort = column.key;
			showTable();
			byId("functions").querySelector(
				"[aria-sort] button")?.focus();
		});
		cell.append(button);
		row.append(cell);
	}
	return row;
}

/* A number with its share as a bar behind it. */
function barCell(value, whole, change) {
	const cell = element("td", "number");
	const text = element("span", "value", change ?
		(value > 0 ? "+" : "") + valueText(value, settings.measure) :
		valueText(value, settings.measure));
	const bar = element("span", "bar" + (change ?
		value > 0 ? " more" : " less" : ""));
	bar.style.width = (whole ? 100 * Math.min(Math.abs(value) / whole, 1) :
		0).toFixed(2) + "%";
	cell.append(bar, text);
	if (!change)
		cell.append(element("span", "share", shareText(value, whole)));
	return cell;
}

function bodyRow(row, whole, most) {
	const made = document.createElement("tr");
	const name = element("td", "code");
	const button = element("button", "plain code", row.name);

	button.type = "button";
	button.addEventListener("click", () => choose(row.frame));
	name.append(button);
	const file = element("td", "code dim", baseName(row.file));
	file.title = row.file;
	made.append(name, file, barCell(row.self, whole),
		barCell(row.total, whole));
	if (settings.diff)
		made.append(barCell(row.change, most, true));
	if (row.frame === table.chosen)
		made.setAttribute("aria-selected", "true");
	made.addEventListener("click", (event) => {
		if (event.target !== button)
			choose(row.frame);
	});
	return made;
}

function showTable() {
	const box = byId("functions");
	const made = element("table", "functions");
	const head = document.createElement("thead");
	const body = document.createElement("tbody");
	const list = sortedRows();
	const whole = totalOf(settings.measure);

	head.append(headRow());
	const most = list.reduce((a, row) =>
		Math.max(a, Math.abs(row.change)), 0);
	for (const row of list.slice(0, table.shown))
		body.append(bodyRow(row, whole, most));
	made.append(element("caption", "hidden-words",
		"Functions by " + MEASURES[settings.measure]), head, body);
	box.replaceChildren(made);
	if (!list.length)
		box.append(element("p", "dim", search.test ?
			"No function matches the search." :
			"No function ran in what is selected."));
	if (list.length > table.shown) {
		const more = element("button", "more-rows", `Show more (${
			countText(list.length - table.shown)} left)`);
		more.type = "button";
		more.addEventListener("click", () => {
			table.shown += 5 * ROWS_AT_ONCE;
			showTable();
		});
		box.append(more);
	}
	showFunction();
}

function refreshTable() {
	table.stale = true;
	if (settings.tab !== "functions")
		return;
	table.stale = false;
	table.rows = functionRows();
	showTable();
}

function choose(frame) {
	table.chosen = frame;
	for (const row of byId("functions").querySelectorAll("tbody tr"))
		row.removeAttribute("aria-selected");
	showTable();
	saveState(true);
}

/* ---- One function ------------------------------------------------------ */

/* Of each stack: 1 when the function is on it. */
function stacksWith(frame) {
	const group = profile.groups.function;
	const hit = new Uint8Array(stacks.n);
	for (let i = 1; i < stacks.n; i++)
		hit[i] = hit[stacks.parent[i]] |
			(group[stacks.frame[i]] === frame ? 1 : 0);
	return hit;
}

/* Total weight by process, the heaviest first. */
function byProcess(frame) {
	const hit = stacksWith(frame);
	const weights = new Map();
	const values = spans[settings.measure];

	eachPicked((i, part) => {
		if (!hit[spans.stack[i]] || !values[i])
			return;
		const process = threads.process[spans.thread[i]];
		weights.set(process, (weights.get(process) || 0) +
			values[i] * part);
	});
	return [...weights].sort((a, b) => b[1] - a[1]);
}

/*
 * Self and total weight by line of a function. A line counts once for each
 * stack however often it is on it: only the innermost place of the function
 * does.
 */
function byLine(frame) {
	const group = profile.groups.function;
	const weights = stackWeights(settings.measure, nodes.own);
	const lines = new Map();

	for (let i = 1; i < stacks.n; i++) {
		if (group[stacks.frame[i]] !== frame || !weights.total[i])
			continue;
		const line = lineOf(stacks.frame[i]);
		const row = lines.get(line) || { self: 0, total: 0 };
		row.self += weights.own[i];
		if (firstOnStack[i])
			row.total += weights.total[i];
		lines.set(line, row);
	}
	return lines;
}

/* The texts of a file's lines that are in the page, by number. */
function sourceOf(file) {
	const source = (profile.source || []).find((it) => it.file === file);
	const lines = new Map();
	let at = 0;

	for (const item of source ? source.lines : [])
		if (typeof item === "number")
			at = item;
		else
			lines.set(at++, shown(item.replaceAll("\t",
				" ".repeat(8))));
	return lines;
}

function lineRow(line, weight, text, whole, most) {
	const row = document.createElement("tr");
	const cell = (value) => element("td", "number",
		value ? shareText(value, whole) : "");
	if (weight) {
		row.className = "weighs";
		row.style.setProperty("--heat",
			(100 * Math.sqrt(weight.total / most || 0))
				.toFixed(1) + "%");
	}
	row.append(cell(weight?.self), cell(weight?.total),
		element("td", "number dim", String(line)),
		element("td", "text", text ?? ""));
	return row;
}

function sourceTable(frame) {
	const weights = byLine(frame);
	const text = sourceOf(frames.file[frame]);
	const numbers = [...weights.keys()].sort((a, b) => a - b);
	const made = element("table", "source");
	const head = document.createElement("tr");
	const body = document.createElement("tbody");
	const whole = Math.max(totalOf(settings.measure), 1);
	const most = Math.max(...[...weights.values()].map((it) => it.total));
	let last = 0;

	for (const [title, name] of [["Self", "number"], ["Total", "number"],
		["Line", "number"], [text.size ? "Source" : "", "text"]])
		head.append(element("th", name, title));
	for (const number of numbers) {
		const from = Math.max(number - AROUND, last + 1);
		if (text.size && last && from > last + 1)
			body.append(lineRow("⋯", null, "", whole, most));
		for (let at = text.size ? from : number;
		     at <= (text.size ? number + AROUND : number); at++) {
			if (at <= last || text.size && !text.has(at) &&
			    !weights.has(at))
				continue;
			body.append(lineRow(at || "?", weights.get(at),
				text.get(at), whole, most));
			last = at;
		}
	}
	const top = document.createElement("thead");
	top.append(head);
	made.append(element("caption", "", text.size ? "Source" : "Lines"),
		top, body);
	return made;
}

function processTable(frame) {
	const list = byProcess(frame);
	const made = element("table", "by-process");
	const body = document.createElement("tbody");
	const most = list.length ? list[0][1] : 1;

	for (const [process, weight] of list.slice(0, 12)) {
		const row = document.createElement("tr");
		const name = element("td", "who", processText(process));
		name.title = commandOf(process);
		row.append(name, barCell(weight, most));
		row.lastChild.lastChild.textContent =
			shareText(weight, totalOf(settings.measure));
		body.append(row);
	}
	if (list.length > 12) {
		const row = document.createElement("tr");
		row.append(element("td", "dim",
			`and ${countText(list.length - 12)} more`),
			element("td", "number", ""));
		body.append(row);
	}
	made.append(element("caption", "", plural(list.length, "process",
		"processes")), body);
	return made;
}

function showFunction() {
	const box = byId("function");
	const frame = table.chosen;

	if (frame < 0) {
		box.replaceChildren(element("p", "dim",
			"Choose a function to see its processes and its " +
			"lines."));
		return;
	}
	const find = element("button", "", "Find in the flame graph");
	find.type = "button";
	find.addEventListener("click", () => {
		setQuery(functionOf(frame).replace(/[\\^$.*+?()[\]{}|]/g,
			"\\$&"));
		setTab("flame");
	});
	box.replaceChildren(element("h2", "code", functionOf(frame) ||
		"(no name)"), element("p", "dim code", fileOf(frame)), find,
		processTable(frame), sourceTable(frame));
}
