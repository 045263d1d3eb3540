/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of the lanes: processes below their parents, many with one parent
 * and one command line folded into one row, and threads where they are asked
 * for.
 *
 * A row: kind ("process", "fold" or "thread"), id, depth, and the processes
 * (members), or the thread, that it stands for. Rows that are closed stand for
 * all that is hidden in them.
 */
const FOLD_FROM = 6;	// as many equal workers become one row
const HEIGHTS = { process: 22, thread: 20, fold: 50 };

const rows = {
	list: [],
	height: 0,	// of all
	open: new Set(), // ids: folds whose members are shown
	closed: new Set(), // processes whose children are not
	threads: new Set(), // processes whose threads are
};

const entryId = (entry) => (entry.quiet ? "q" : entry.length > 1 ? "f" :
	"p") + entry[0];

/*
 * Processes that belong together, each list by birth. Of what is beside others
 * that were seen, and was not, there is one row, the last.
 */
function entriesOf(list) {
	const by = new Map();
	const entries = [];
	const quiet = list.filter((process) => !liveliness[process]);
	const apart = quiet.length > 1 && quiet.length < list.length;

	for (const process of list) {
		if (apart && !liveliness[process])
			continue;
		const key = processes.run[process] + " " + commandOf(process);
		if (!by.has(key))
			by.set(key, []);
		by.get(key).push(process);
	}
	for (const members of by.values()) {
		if (members.length >= FOLD_FROM)
			entries.push(members);
		else
			for (const process of members)
				entries.push([process]);
	}
	entries.sort((a, b) => processes.born[a[0]] -
		processes.born[b[0]] || a[0] - b[0]);
	if (apart) {
		quiet.quiet = true;
		entries.push(quiet);
	}
	return entries;
}

function pushRow(row) {
	row.top = rows.height;
	row.height = HEIGHTS[row.kind];
	rows.height += row.height;
	rows.list.push(row);
}

/* Put the row of an entry; returns the entries to go on with. */
function putEntry(entry, depth, alone) {
	const id = entryId(entry);
	const process = entry[0];

	if (entry.length > 1 && !alone) {
		const open = rows.open.has(id);
		pushRow({ kind: "fold", id, depth, members: entry, open,
			opens: true, quiet: !!entry.quiet });
		return open ? entry.map((member) => [member]) : [];
	}
	const kids = profile.kids[process];
	const open = !rows.closed.has(id);
	pushRow({ kind: "process", id: "p" + process, depth, process,
		members: entry, open, opens: kids.length > 0 });
	if (rows.threads.has(process))
		for (const thread of profile.threadsOf[process])
			pushRow({ kind: "thread", id: "t" + thread,
				depth: depth + 1, thread, process,
				members: [], opens: false });
	return open ? entriesOf(kids) : [];
}

function makeRows() {
	const stack = entriesOf(profile.roots).reverse()
		.map((entry) => [entry, 0]);

	rows.list = [];
	rows.height = 0;
	while (stack.length) {
		const [entry, depth] = stack.pop();
		const below = putEntry(entry, depth);
		for (let i = below.length - 1; i >= 0; i--)
			stack.push([below[i], depth + 1]);
	}
}

/* The first row of which some is at or below @y. */
function rowIndexAt(y) {
	let low = 0;
	let high = rows.list.length;
	while (low < high) {
		const middle = low + high >> 1;
		const row = rows.list[middle];
		if (row.top + row.height <= y)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* All processes that a row stands for; @deep: and all descendants. */
function hiddenIn(row, deep) {
	const all = [...row.members];
	if (!deep && row.opens && row.open)
		return row.kind === "fold" ? all : [row.process];
	// The list grows while it is gone through.
	for (const process of all)
		for (const kid of profile.kids[process])
			all.push(kid);
	return all;
}

const threadsIn = (row) => row.kind === "thread" ? [row.thread] :
	row.members.flatMap((process) => profile.threadsOf[process]);

/* Of which host a root is, where there are several. */
const hostSuffix = (process) => profile.runs.length > 1 ?
	" · " + hostOf(processes.run[process]) : "";

function rowName(row) {
	if (row.kind === "thread")
		return threadText(row.thread);
	if (row.quiet)
		return `${countText(row.members.length)} without samples`;
	if (row.kind === "fold")
		return `${countText(row.members.length)} × ` +
			(commandOf(row.members[0]) || "(no command line)");
	return processText(row.process) + (row.depth ? "" :
		hostSuffix(row.process));
}

function isRowPicked(row) {
	if (row.kind === "thread")
		return pick.threads.has(row.thread) ||
			pick.processes.has(row.process);
	return row.members.every((process) => pick.processes.has(process));
}

/* How many of a fold's members are picked. */
const pickedOf = (row) => row.members.reduce((n, process) =>
	n + (pick.processes.has(process) ? 1 : 0), 0);

function setRowOpen(row, open) {
	if (!row.opens || row.open === open)
		return;
	if (row.kind === "fold")
		rows.open[open ? "add" : "delete"](row.id);
	else
		rows.closed[open ? "delete" : "add"](row.id);
	makeRows();
}

/* Open what hides a process. */
function revealThreads(process, show) {
	rows.threads[show ? "add" : "delete"](process);
	makeRows();
}
