/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recording as out_page_data.c wrote it: tables of numbers that refer to
 * one another. Times are in microseconds.
 */

/* Reads numbers of seven bits a byte, the least first, from base64. */
class Numbers {
	constructor(text) {
		this.bytes = Numbers.decode(text || "");
		this.at = 0;
	}

	static decode(text) {
		if (Uint8Array.fromBase64)
			return Uint8Array.fromBase64(text);
		const bytes = atob(text);
		const array = new Uint8Array(bytes.length);
		for (let i = 0; i < bytes.length; i++)
			array[i] = bytes.charCodeAt(i);
		return array;
	}

	get more() {
		return this.at < this.bytes.length;
	}

	next() {
		let byte = this.bytes[this.at++];
		if (byte < 128)
			return byte;
		let value = 0;
		let unit = 1;
		for (; byte & 128; byte = this.bytes[this.at++]) {
			value += (byte & 127) * unit;
			unit *= 128;
		}
		return value + byte * unit;
	}

	signed() {
		const value = this.next();
		return value % 2 ? -(value + 1) / 2 : value / 2;
	}
}

const MEASURES = { cpu: "on-CPU time", wall: "wall time", gil: "GIL held",
	samples: "samples" };
const MEASURE_NAMES = Object.keys(MEASURES);
const IDLE = 0, ON_CPU = 1, GIL_WAIT = 2, STOPPED = 3; // of a span

function readFrames(text, n) {
	const from = new Numbers(text);
	const frames = { n, name: new Int32Array(n), file: new Int32Array(n),
		line: new Int32Array(n) };
	for (let i = 0; i < n; i++) {
		frames.name[i] = from.next();
		frames.file[i] = from.next();
		frames.line[i] = from.signed();
	}
	return frames;
}

/* Stack 0 is the empty one; a parent has a smaller number than its child. */
function readStacks(text, n) {
	const from = new Numbers(text);
	const stacks = { n, parent: new Int32Array(n),
		frame: new Int32Array(n) };
	stacks.parent[0] = stacks.frame[0] = -1;
	for (let i = 1; i < n; i++) {
		stacks.parent[i] = i - from.next();
		stacks.frame[i] = from.next();
	}
	return stacks;
}

/* What each thread did, by thread and time. */
function readSpans(text, n, threads) {
	const from = new Numbers(text);
	const numbers = () => new Float64Array(n);
	const to = { n, first: new Int32Array(threads + 1),
		thread: new Int32Array(n), stack: new Int32Array(n),
		state: new Uint8Array(n), start: numbers(), end: numbers(),
		wall: numbers(), cpu: numbers(), gil: numbers(),
		samples: numbers() };
	let i = 0;

	for (let thread = 0; thread < threads; thread++) {
		let at = 0;
		to.first[thread] = i;
		for (let left = from.next(); left > 0 && i < n; left--, i++) {
			at += from.next();
			to.thread[i] = thread;
			to.start[i] = at;
			to.end[i] = at + from.next();
			const what = from.next();
			to.stack[i] = what >>> 2;
			to.state[i] = what & 3;
			to.wall[i] = from.next();
			to.cpu[i] = from.next();
			to.gil[i] = from.next();
			to.samples[i] = from.next();
		}
	}
	to.first[threads] = i;
	return to;
}

function readBase(text) {
	if (text === undefined)
		return null;
	const from = new Numbers(text);
	const rows = [];
	while (from.more)
		rows.push({ command: from.next(), stack: from.next(),
			wall: from.next(), cpu: from.next(), gil: from.next(),
			samples: from.next() });
	return rows;
}

/* Whose child, thread and image each is. */
function linkProcesses(profile) {
	const { processes, threads, images } = profile;
	const n = processes.pid.length;
	const lists = () => Array.from({ length: n }, () => []);

	profile.processCount = n;
	profile.threadCount = threads.tid.length;
	profile.kids = lists();
	profile.roots = [];
	profile.threadsOf = lists();
	profile.imagesOf = lists();
	for (let i = 0; i < n; i++) {
		const parent = processes.parent[i];
		(parent >= 0 && parent < i ? profile.kids[parent] :
			profile.roots).push(i);
	}
	threads.process.forEach((process, i) =>
		profile.threadsOf[process]?.push(i));
	images.process.forEach((process, i) =>
		profile.imagesOf[process]?.push(i));
	/* The image of a thread: the last that had begun by its birth. */
	threads.image = threads.process.map((process, i) => {
		const list = profile.imagesOf[process] || [];
		let its = list.length ? list[0] : images.at.length;
		for (const image of list)
			if (images.at[image] <= threads.born[i] &&
			    images.command[image] === threads.command[i])
				its = image;
		return its;
	});
}

/* For each frame the first frame that counts as the same. */
function groupFrames(frames, keyOf) {
	const group = new Int32Array(frames.n);
	const seen = new Map();
	for (let i = 0; i < frames.n; i++) {
		const key = keyOf(i);
		if (!seen.has(key))
			seen.set(key, i);
		group[i] = seen.get(key);
	}
	return group;
}

function load() {
	const data = JSON.parse(byId("data").textContent);
	const strings = data.strings.map(shown);
	const frames = readFrames(data.frames, data.frame_count);
	const spans = readSpans(data.spans, data.span_count,
		data.threads.tid.length);
	const tick = data.tick_ns / 1e3;

	for (let i = 0; i < spans.n; i++) {
		spans.start[i] = data.from + spans.start[i] * tick;
		spans.end[i] = data.from + spans.end[i] * tick;
	}
	const profile = { ...data, strings, frames, spans,
		title: shown(data.title || data.runs[0]?.title || ""),
		until: Math.max(data.until, data.from + 1),
		stacks: readStacks(data.stacks, data.stack_count),
		base: readBase(data.base),
		has_cpu: spans.cpu.some((cpu) => cpu > 0) };
	profile.groups = {
		line: Int32Array.from({ length: frames.n }, (_, i) => i),
		function: groupFrames(frames, (i) =>
			frames.name[i] * strings.length + frames.file[i]),
		file: groupFrames(frames, (i) => frames.file[i]),
	};
	linkProcesses(profile);
	return profile;
}

const profile = load();
const { spans, frames, stacks, processes, threads, images } = profile;

const functionOf = (frame) => profile.strings[frames.name[frame]];
const fileOf = (frame) => profile.strings[frames.file[frame]];
const lineOf = (frame) => frames.line[frame];

/*
 * 1: something was seen of the process itself; 2: or only of a descendant; 0:
 * of neither, as of a shell and what it starts. A parent has a smaller number.
 */
const liveliness = new Uint8Array(profile.processCount);
for (let i = profile.processCount - 1; i >= 0; i--) {
	const parent = processes.parent[i];
	if (profile.threadsOf[i].some((thread) =>
		spans.first[thread + 1] > spans.first[thread]))
		liveliness[i] = 1;
	if (liveliness[i] && parent >= 0 && parent < i && !liveliness[parent])
		liveliness[parent] = 2;
}
const livelyCount = liveliness.filter((it) => it === 1).length;

/* The command line of a process: that of its last image. */
function commandOf(process) {
	const list = profile.imagesOf[process];
	return list.length ?
		profile.strings[images.command[list[list.length - 1]]] : "";
}

function pidText(process) {
	const again = processes.again[process];
	return processes.pid[process] + (again ? ` (${again + 1})` : "");
}

const processText = (process) =>
	pidText(process) + ": " + (commandOf(process) || "(no command line)");

function threadText(thread) {
	const name = profile.strings[threads.name[thread]];
	return "thread " + threads.tid[thread] + (name ? " " + name : "");
}

/* Bad is an end by a signal or with a status that is not 0. */
const endedBadly = (process) => processes.status[process] > 0;
