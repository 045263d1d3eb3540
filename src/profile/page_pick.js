/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is picked, and what it weighs. A pick is a stretch of time and some
 * processes and threads; all that is below the lanes shows only that.
 */

const settings = {
	measure: "cpu",
	group: "process",	// of the flame graph: see groupOf
	frames: "function",
	inverted: false,
	flame: false,		// roots at the foot
	diff: false,
	scaled: false,		// the base, to the same total
	query: "",
	tab: "flame",
};

const SWITCHES = ["inverted", "flame", "diff", "scaled"];

const pick = {
	from: profile.from,
	until: profile.until,
	processes: new Set(),
	threads: new Set(),
	on: new Uint8Array(profile.threadCount).fill(1), // by thread
};

const isWholeTime = () =>
	pick.from <= profile.from && pick.until >= profile.until;
const isAnyPicked = () => pick.processes.size + pick.threads.size > 0;

function pickChanged() {
	const any = isAnyPicked();
	for (let i = 0; i < profile.threadCount; i++)
		pick.on[i] = !any || pick.threads.has(i) ||
			pick.processes.has(threads.process[i]);
}

/* The part of a span that is within a time: 0 to 1. */
function partOf(span, from, until) {
	const start = spans.start[span];
	const end = spans.end[span];
	if (start >= from && end <= until)
		return 1;
	const first = Math.max(start, from);
	const last = Math.min(end, until);
	return last <= first ? 0 : (last - first) / (end - start);
}

/* Call @fn with each span of a thread that is picked in part, and the part. */
function eachPickedOf(thread, fn) {
	if (!pick.on[thread])
		return;
	const end = spans.first[thread + 1];
	for (let i = spans.first[thread]; i < end; i++) {
		const part = partOf(i, pick.from, pick.until);
		if (part)
			fn(i, part);
	}
}

function eachPicked(fn) {
	for (let thread = 0; thread < profile.threadCount; thread++)
		eachPickedOf(thread, fn);
}

/* ---- The tree of stacks of each group ---------------------------------- */

/*
 * Groups are numbers: an image, a thread, a command line, a run, or just one.
 */
function groupOf(thread) {
	switch (settings.group) {
	case "process":
		return threads.image[thread];
	case "thread":
		return thread;
	case "role":
		return threads.command[thread];
	case "host":
		return firstOfHost(processes.run[threads.process[thread]]);
	default:
		return 0;
	}
}

function countBy(list) {
	const counts = new Map();
	for (const key of list)
		counts.set(key, (counts.get(key) || 0) + 1);
	return counts;
}

const hostOf = (run) => shown(profile.runs[run].host) || "(no host)";

/* The first run on the same host stands for all. */
const firstOfHost = (run) => profile.runs.findIndex((other) =>
	other.host === profile.runs[run].host);

const hostCount = new Set(profile.runs.map((run) => run.host)).size;

let roleSizes = null;

function groupName(group) {
	switch (settings.group) {
	case "process": {
		const process = images.process[group];
		return process === undefined ? "(no process)" :
			pidText(process) + ": " +
			profile.strings[images.command[group]];
	}
	case "thread":
		return pidText(threads.process[group]) + ": " +
			threadText(group);
	case "role": {
		roleSizes ||= countBy(images.command);
		const n = roleSizes.get(group) || 0;
		return profile.strings[group] +
			(n > 1 ? ` (${countText(n)} processes)` : "");
	}
	case "host":
		return hostOf(group);
	default:
		return "all processes, merged";
	}
}

/* An object of values by measure, each made when it is first asked for. */
function lazily(make) {
	const made = {};
	const values = {};
	for (const measure of MEASURE_NAMES)
		Object.defineProperty(values, measure, {
			get: () => made[measure] ||= make(measure),
		});
	return values;
}

/*
 * Nodes: a group's stack, each once, a parent before its children. Made group
 * by group, so that where a stack's node is can be told by its number: @nodeOf,
 * which is of this group where @turnOf says so.
 */
class Nodes {
	constructor() {
		this.n = 0;
		this.nodeOf = new Int32Array(stacks.n);
		this.turnOf = new Int32Array(stacks.n);
		this.turn = 0;
		this.now = 0;
		this.nodeOfSpan = new Int32Array(spans.n).fill(-1);
		this.baseNodes = [];
		this.from = pick.from;
		this.until = pick.until;
		this.room(stacks.n + 16);
	}

	room(size) {
		const grow = (type, old) => {
			const array = new type(size);
			if (old)
				array.set(old);
			return array;
		};
		for (const name of ["group", "stack", "parent"])
			this[name] = grow(Int32Array, this[name]);
	}

	begin(group) {
		this.now = group;
		this.turn++;
	}

	push(stack, parent) {
		if (this.n === this.group.length)
			this.room(2 * this.n);
		this.group[this.n] = this.now;
		this.stack[this.n] = stack;
		this.parent[this.n] = parent;
		this.turnOf[stack] = this.turn;
		return this.nodeOf[stack] = this.n++;
	}

	/* The node of a stack of this group, new or not. */
	at(stack) {
		if (this.turnOf[stack] === this.turn)
			return this.nodeOf[stack];
		const missing = [];
		while (stack > 0 && this.turnOf[stack] !== this.turn) {
			missing.push(stack);
			stack = stacks.parent[stack];
		}
		let node = this.turnOf[stack] === this.turn ?
			this.nodeOf[stack] : this.push(0, -1);
		while (missing.length)
			node = this.push(missing.pop(), node);
		return node;
	}

	/* Children, roots and totals, once all are there. */
	link() {
		this.first = new Int32Array(this.n).fill(-1);
		this.next = new Int32Array(this.n).fill(-1);
		this.roots = [];
		for (let i = this.n - 1; i >= 0; i--) {
			const parent = this.parent[i];
			if (parent < 0) {
				this.roots.push(i);
				continue;
			}
			this.next[i] = this.first[parent];
			this.first[parent] = i;
		}
		this.roots.reverse();
		this.own = lazily((measure) => this.ownOf(measure));
		this.base = lazily((measure) => this.baseOf(measure));
		this.total = lazily((measure) =>
			this.addUp(this.own[measure]));
		this.baseTotal = lazily((measure) =>
			this.addUp(this.base[measure]));
	}

	ownOf(measure) {
		const values = spans[measure];
		const own = new Float64Array(this.n);
		this.nodeOfSpan.forEach((node, i) => {
			if (node >= 0)
				own[node] += values[i] *
					partOf(i, this.from, this.until);
		});
		return own;
	}

	baseOf(measure) {
		const base = new Float64Array(this.n);
		for (const [node, row] of this.baseNodes)
			base[node] += row[measure];
		return base;
	}

	/* A child is after its parent: backwards it is complete in time. */
	addUp(own) {
		const total = own.slice();
		for (let i = this.n - 1; i >= 0; i--)
			if (this.parent[i] >= 0)
				total[this.parent[i]] += total[i];
		return total;
	}
}

/* Lists of @items by group. */
function byGroup(items, keyOf) {
	const groups = new Map();
	for (const item of items) {
		const key = keyOf(item);
		if (!groups.has(key))
			groups.set(key, []);
		groups.get(key).push(item);
	}
	return groups;
}

function gatherNodes() {
	const nodes = new Nodes();
	const rows = settings.diff && profile.base || [];
	const groups = byGroup(threads.tid.keys(), groupOf);
	const bases = byGroup(rows, (row) =>
		settings.group === "role" ? row.command : 0);

	for (const group of new Set([...groups.keys(), ...bases.keys()])) {
		nodes.begin(group);
		for (const thread of groups.get(group) || [])
			eachPickedOf(thread, (i) => {
				nodes.nodeOfSpan[i] = nodes.at(spans.stack[i]);
			});
		for (const row of bases.get(group) || [])
			nodes.baseNodes.push([nodes.at(row.stack), row]);
	}
	nodes.link();
	return nodes;
}

let nodes = null; // of what is picked

const sumOf = (list, of) => {
	let sum = 0;
	for (const i of list)
		sum += of[i];
	return sum;
};

const totalOf = (measure) => sumOf(nodes.roots, nodes.total[measure]);
const baseTotalOf = (measure) => settings.diff ?
	sumOf(nodes.roots, nodes.baseTotal[measure]) : 0;

/* What the base's weights are multiplied with. */
function baseScale(measure) {
	if (!settings.diff)
		return 0;
	const base = baseTotalOf(measure);
	return settings.scaled && base ? totalOf(measure) / base : 1;
}

/* All of the recording, whatever is picked. */
function recordedTotal(measure) {
	return spans[measure].reduce((sum, value) => sum + value, 0);
}

/* ---- The search -------------------------------------------------------- */

const search = {
	texts: null,	// of each frame; from the first search on
	frames: new Uint8Array(frames.n), // 1: matches
	test: null,	// of a text; null: no search
	broken: false,	// it is no regular expression: taken as it stands
};

function setSearch(query) {
	settings.query = query;
	search.test = null;
	search.broken = false;
	search.frames.fill(0);
	if (!query)
		return;
	let pattern;
	try {
		pattern = new RegExp(query, "i");
	} catch {
		search.broken = true;
		pattern = new RegExp(query.replace(/[\\^$.*+?()[\]{}|]/g,
			"\\$&"), "i");
	}
	search.test = (text) => pattern.test(text);
	if (!search.texts) {
		search.texts = [];
		for (let i = 0; i < frames.n; i++)
			search.texts.push(functionOf(i) + " " + fileOf(i) +
				":" + lineOf(i));
	}
	search.texts.forEach((text, i) => {
		search.frames[i] = pattern.test(text) ? 1 : 0;
	});
}

/* Each stack counts once, however many of its frames match. */
function matchedWeight() {
	const own = nodes.own[settings.measure];
	const hit = new Uint8Array(nodes.n);
	const named = new Map();
	let weight = 0;

	for (let i = 0; i < nodes.n; i++) {
		const parent = nodes.parent[i];
		if (parent < 0) {
			const group = nodes.group[i];
			if (!named.has(group))
				named.set(group, settings.group !== "all" &&
					search.test(groupName(group)));
			hit[i] = named.get(group) ? 1 : 0;
		} else {
			hit[i] = hit[parent] |
				search.frames[stacks.frame[nodes.stack[i]]];
		}
		if (hit[i])
			weight += own[i];
	}
	return weight;
}
