/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flame graph's page. What flows: the profile (read once, see load) becomes
 * a tree of blocks (Tree, grown only where it can be seen), that a layout
 * places within a window of the total and that is painted on a canvas as high
 * as the view. Names come from strangers: they get to the page as text nodes or as
 * pixels, never as markup.
 *
 * For tests there is window.forkflame; documented where it is made.
 */
"use strict";

(() => {
const ROW = 22;		// pixels from one row to the next
const LEAST = 0.5;	// narrower blocks are not drawn
const LABEL_FROM = 26;	// narrower blocks have no label
const LABEL_MOST = 240;	// characters of a name that are ever drawn
const ANIMATE_MOST = 12000; // with more blocks, zooming does not glide
const MEASURES = { cpu: "on-CPU", wall: "wall time" };

const byId = (id) => document.getElementById(id);

/* ---- The profile ------------------------------------------------------- */

/*
 * Controls, bidi marks and bytes that were no UTF-8 (they come as lone
 * surrogates) are shown as escapes: a name must not look like another.
 */
const MISLEADING = new RegExp(
	"[\\0-\\x1f\\x7f-\\x9f\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]" +
	"|\\p{Cs}", "gu");

function shown(text) {
	return text.replace(MISLEADING, (c) => {
		const code = c.charCodeAt(0);
		if (code >= 0xdc80 && code <= 0xdcff)
			return "\\x" + (code & 0xff).toString(16);
		return code < 0x100 ?
			"\\x" + code.toString(16).padStart(2, "0") :
			"\\u" + code.toString(16).padStart(4, "0");
	});
}

/* A child is after its parent: backwards, it is complete when it is added. */
function addUp(own, parent) {
	const total = own.slice();

	for (let i = own.length - 1; i >= 0; i--)
		if (parent[i] >= 0)
			total[parent[i]] += total[i];
	return total;
}

/* Parents, children and totals of the nodes, from out_flamegraph.c's arrays. */
function linkNodes(nodes) {
	const n = nodes.up.length;
	const tree = {
		n,
		frame: new Int32Array(nodes.frame),
		parent: new Int32Array(n),
		first: new Int32Array(n).fill(-1),
		next: new Int32Array(n).fill(-1),
		roots: [],
		own: {},
		total: {},
	};

	for (let i = 0; i < n; i++) {
		tree.parent[i] = nodes.up[i] ? i - nodes.up[i] : -1;
		if (!nodes.up[i])
			tree.roots.push(i);
	}
	for (let i = n - 1; i >= 0; i--) {
		const parent = tree.parent[i];
		if (parent < 0)
			continue;
		tree.next[i] = tree.first[parent];
		tree.first[parent] = i;
	}
	for (const measure of ["cpu", "wall", "samples"]) {
		tree.own[measure] = new Float64Array(nodes[measure]);
		tree.total[measure] = addUp(tree.own[measure], tree.parent);
	}
	return tree;
}

/* For each frame the first frame of the same function of the same file. */
function groupFrames(frames, count, strings) {
	const group = new Int32Array(count);
	const seen = new Map();

	for (let i = 0; i < count; i++) {
		const key = frames[3 * i] * strings + frames[3 * i + 1];
		if (!seen.has(key))
			seen.set(key, i);
		group[i] = seen.get(key);
	}
	return group;
}

function load() {
	const data = JSON.parse(byId("data").textContent);
	const strings = data.strings.map(shown);
	const count = data.frames.length / 3;

	return {
		title: data.title ? shown(data.title) : "",
		strings,
		frames: data.frames,
		frameCount: count,
		processes: data.processes,
		processCount: data.processes.pid.length,
		group: groupFrames(data.frames, count, strings.length),
		nodes: linkNodes(data.nodes),
	};
}

const profile = load();
const nodes = profile.nodes;

const functionOf = (frame) => profile.strings[profile.frames[3 * frame]];
const fileOf = (frame) => profile.strings[profile.frames[3 * frame + 1]];
const lineOf = (frame) => profile.frames[3 * frame + 2];

const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

function totalOf(measure) {
	return sum(nodes.roots.map((root) => nodes.total[measure][root]));
}

/* ---- What is shown ----------------------------------------------------- */

const settings = {
	measure: "cpu",
	merged: false,
	inverted: false,
	lines: false,
	query: "",
};

/*
 * A block's key says what it stands for: a frame (>= 0), or a process (below
 * 0); the number after the last process is time outside of any Python frame.
 */
const processKey = (process) => -1 - process;
const processOf = (key) => -1 - key;
const OUTSIDE = processKey(profile.processCount);

function keyOf(node) {
	const frame = nodes.frame[node];

	if (nodes.parent[node] < 0)
		return processKey(frame);
	return settings.lines ? frame : profile.group[frame];
}

function nameOf(block) {
	if (!block.up)
		return settings.merged || settings.inverted ?
			"all processes, merged" : "all processes";
	if (block.key === OUTSIDE)
		return "outside of Python frames";
	if (block.key >= 0)
		return functionOf(block.key) || "(no name)";
	const process = processOf(block.key);
	return profile.processes.pid[process] + ": " +
		profile.strings[profile.processes.command[process]];
}

/*
 * Where a block's nodes stand in the tree of stacks: themselves, or for an
 * inverted block the caller that it has got to.
 */
const places = (block) => block.at || block.nodes;

/* The line of a block; 0: it has several or none. Kept: it is asked often. */
function onlyLine(block) {
	if (block.line !== undefined)
		return block.line;
	let line = -1;
	for (const node of places(block)) {
		const its = lineOf(nodes.frame[node]);
		if (line >= 0 && its !== line) {
			line = 0;
			break;
		}
		line = its;
	}
	return block.line = Math.max(line, 0);
}

function placeOf(block, whole) {
	if (block.key < 0 || !block.up)
		return "";
	const file = fileOf(block.key);
	const line = onlyLine(block);
	return (whole ? file : file.slice(file.lastIndexOf("/") + 1)) +
		(line ? ":" + line : "");
}

/*
 * The tree of blocks. A block stands for all nodes of the same path: @nodes
 * whose time it shows and, inverted, @at: which caller of each. Its children
 * are made when a layout first gets to it: an inverted tree of many stacks
 * would be far larger than what can be seen of it.
 */
class Tree {
	constructor() {
		this.root = this.block(null, 0);
		this.root.value = totalOf(settings.measure);
		if (settings.merged && !settings.inverted) {
			this.root.nodes = nodes.roots;
			this.root.self = this.selfOf(this.root);
		}
	}

	block(up, key) {
		return {
			up, key,
			depth: up ? up.depth + 1 : 0,
			x: 0, value: 0, self: 0,
			nodes: [],
			at: settings.inverted ? [] : null,
			kids: null,
		};
	}

	selfOf(block) {
		if (settings.inverted)
			return block.depth === 1 ? block.value : 0;
		const own = nodes.own[settings.measure];
		return sum(block.nodes.map((node) => own[node]));
	}

	kids(block) {
		if (!block.kids) {
			const kids = new Map();
			if (settings.inverted)
				this.addCallers(block, kids);
			else
				this.addCallees(block, kids);
			block.kids = this.place(block, kids);
		}
		return block.kids;
	}

	kid(block, kids, key) {
		let kid = kids.get(key);
		if (!kid) {
			kid = this.block(block, key);
			kids.set(key, kid);
		}
		return kid;
	}

	addCallees(block, kids) {
		const total = nodes.total[settings.measure];
		const add = (node) => {
			if (!total[node])
				return;
			const kid = this.kid(block, kids, keyOf(node));
			kid.nodes.push(node);
			kid.value += total[node];
		};

		if (!block.up && !settings.merged)
			nodes.roots.forEach(add);
		for (const node of block.nodes)
			for (let kid = nodes.first[node]; kid >= 0;
			     kid = nodes.next[kid])
				add(kid);
	}

	addCallers(block, kids) {
		const own = nodes.own[settings.measure];
		const add = (node, at) => {
			if (at < 0)
				return;
			let key = keyOf(at);
			if (settings.merged && key < 0) {
				if (block.up)
					return;
				key = OUTSIDE;
			}
			const kid = this.kid(block, kids, key);
			kid.nodes.push(node);
			kid.at.push(at);
			kid.value += own[node];
		};

		if (block.up)
			block.nodes.forEach((node, i) =>
				add(node, nodes.parent[block.at[i]]));
		else
			for (let i = 0; i < nodes.n; i++)
				if (own[i])
					add(i, i);
	}

	/* The heaviest first, from the left edge of their parent on. */
	place(block, kids) {
		const list = [...kids.values()];
		let x = block.x;

		list.sort((a, b) => b.value - a.value || a.key - b.key);
		for (const kid of list) {
			kid.x = x;
			kid.self = this.selfOf(kid);
			x += kid.value;
		}
		return list;
	}

	/* The block at the end of a path of keys, or null. */
	find(path) {
		let block = this.root;
		for (const key of path) {
			block = this.kids(block).find((kid) => kid.key === key);
			if (!block)
				return null;
		}
		return block;
	}
}

function pathOf(block) {
	const path = [];
	for (; block.up; block = block.up)
		path.push(block.key);
	return path.reverse();
}

function isWithin(block, ancestor) {
	while (block && block.depth > ancestor.depth)
		block = block.up;
	return block === ancestor;
}

/* A measure's sum over a block, whichever measure the tree was made for. */
function measureOf(block, measure) {
	if (!block.up)
		return totalOf(measure);
	const from = settings.inverted ? nodes.own : nodes.total;
	return sum(block.nodes.map((node) => from[measure][node]));
}

/* ---- The search -------------------------------------------------------- */

const search = {
	texts: null,	// of each frame, in lower case; from the first search on
	frames: null,	// 1: matches
	groups: null,
	processes: null,
	weight: 0,	// of the stacks with a match, in the chosen measure
};

function searchTexts() {
	const texts = [];
	for (let i = 0; i < profile.frameCount; i++)
		texts.push((functionOf(i) + "\n" + fileOf(i) + ":" +
			lineOf(i)).toLowerCase());
	return texts;
}

function matchNames() {
	const query = settings.query.toLowerCase();

	search.texts ||= searchTexts();
	search.frames = new Uint8Array(profile.frameCount);
	search.groups = new Uint8Array(profile.frameCount);
	search.processes = new Uint8Array(profile.processCount + 1);
	search.texts.forEach((text, i) => {
		if (text.includes(query))
			search.frames[i] = search.groups[profile.group[i]] = 1;
	});
	for (let i = 0; i < profile.processCount && !settings.merged; i++) {
		const name = profile.processes.pid[i] + ": " +
			profile.strings[profile.processes.command[i]];
		search.processes[i] = name.toLowerCase().includes(query);
	}
}

/* Each stack counts once, however many of its frames match. */
function weighMatches() {
	const own = nodes.own[settings.measure];
	const hit = new Uint8Array(nodes.n);

	search.weight = 0;
	for (let i = 0; i < nodes.n; i++) {
		const parent = nodes.parent[i];
		hit[i] = parent < 0 ? search.processes[nodes.frame[i]] :
			hit[parent] | search.frames[nodes.frame[i]];
		if (hit[i])
			search.weight += own[i];
	}
}

function matches(block) {
	if (!settings.query || !block.up)
		return false;
	if (block.key < 0)
		return !!search.processes[processOf(block.key)];
	return !!(settings.lines ? search.frames : search.groups)[block.key];
}

/* ---- Numbers for people ------------------------------------------------ */

function timeText(us) {
	if (us >= 3600e6)
		return Math.floor(us / 3600e6) + " h " +
			Math.round(us % 3600e6 / 60e6) + " min";
	if (us >= 60e6)
		return Math.floor(us / 60e6) + " min " +
			Math.floor(us % 60e6 / 1e6) + " s";
	if (us >= 1e6)
		return (us / 1e6).toFixed(us >= 10e6 ? 1 : 2) + " s";
	if (us >= 1e3)
		return (us / 1e3).toFixed(us >= 100e3 ? 0 : 1) + " ms";
	return Math.round(us) + " µs";
}

function shareText(part, whole) {
	const share = whole ? 100 * part / whole : 0;
	if (share > 0 && share < 0.01)
		return "< 0.01 %";
	return share.toFixed(share >= 99.95 || !share ? 0 : share < 1 ? 2 : 1) +
		" %";
}

const countText = (n) => n.toLocaleString("en");
const plural = (n, one, many) => countText(n) + " " + (n === 1 ? one : many);

/* ---- Colours ----------------------------------------------------------- */

let theme = null;
const colours = new Map();

/* The style sheet decides; light and dark are its business. */
function readTheme() {
	const style = getComputedStyle(document.documentElement);
	const get = (name) => style.getPropertyValue("--" + name).trim();

	theme = {
		text: get("block-text"), soft: get("soft"), focus: get("focus"),
		found: get("found"), foundText: get("found-text"),
		process: get("process"), total: get("total"),
		lightness: Number(get("block-lightness")),
		chroma: Number(get("block-chroma")),
		font: "12px " + get("sans"),
		wide: CSS.supports("color", "oklch(0.5 0.1 20)"),
	};
	colours.clear();
}

/* FNV-1a: the same name has the same colour in every profile. */
function hash(text) {
	let h = 0x811c9dc5;
	for (let i = 0; i < text.length; i++)
		h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
	// Its low bits hardly tell short names apart: mix once more.
	h = Math.imul(h ^ h >>> 15, 0x2c1b3c6d);
	return (h ^ h >>> 13) >>> 0;
}

/*
 * What gives a frame its hue: an installed package is one colour, other code
 * has one for each file. Null, which is grey: the standard library and what
 * has no file.
 */
function familyOf(file) {
	const installed = /\/(?:site|dist)-packages\/([^/]+)/.exec(file);
	if (installed)
		return installed[1].replace(/\.py$/, "");
	const standard = /\/lib(64)?\/python\d[\d.]*\//.test(file);
	return !file || file[0] === "<" || standard ? null : file;
}

function frameColour(frame) {
	const family = familyOf(fileOf(frame));
	const hue = family === null ? 75 : hash(family) % 360;
	const shift = (hash(functionOf(frame)) % 9 - 4) * 0.006;
	const lightness = theme.lightness + shift;
	const chroma = family === null ? 0.012 : theme.chroma;

	if (theme.wide)
		return `oklch(${lightness.toFixed(3)} ${chroma} ${hue})`;
	return `hsl(${hue} ${family === null ? 6 : 45}% ${
		Math.round(lightness * 100 - 6)}%)`;
}

function colourOf(block) {
	if (!block.up)
		return theme.total;
	if (block.key < 0)
		return theme.process;
	let colour = colours.get(block.key);
	if (!colour) {
		colour = frameColour(block.key);
		colours.set(block.key, colour);
	}
	return colour;
}

/* ---- Layout and painting ----------------------------------------------- */

const view = byId("view");
const canvas = byId("graph");
const ink = canvas.getContext("2d");

const graph = {
	tree: null,
	zoomed: null,	// block
	focused: null,	// block that the keyboard is at, or null
	over: null,	// block below the pointer, or null
	from: 0, to: 0,	// the part of the total that fills the width
	rows: [],	// by depth: arrays of { block, x, width }, in pixels
	blocks: 0,
	width: 0, height: 0,
	glide: null,	// a zoom on its way
	due: false,	// a repaint is
	widths: new Map(), // of labels
};

/*
 * What is too narrow to be seen is one item without a block: an empty place
 * would say that the parent itself ran.
 */
function placeRest(depth, kids, scale) {
	const last = kids[kids.length - 1];
	const left = Math.max((kids[0].x - graph.from) * scale, 0);
	const right = Math.min((last.x + last.value - graph.from) * scale,
		graph.width);

	if (right - left >= LEAST)
		(graph.rows[depth] ||= []).push({
			block: null, x: left, width: right - left,
		});
}

/* Place all blocks that can be seen, at any scroll position. */
function layout() {
	const scale = graph.width / (graph.to - graph.from || 1);
	const stack = [graph.tree.root];

	graph.rows = [];
	graph.blocks = 0;
	while (stack.length) {
		const block = stack.pop();
		const left = Math.max((block.x - graph.from) * scale, 0);
		const right = Math.min((block.x + block.value - graph.from) *
			scale, graph.width);
		if (right - left < LEAST)
			continue;
		const row = graph.rows[block.depth] ||= [];
		row.push({ block, x: left, width: right - left });
		graph.blocks++;
		const kids = graph.tree.kids(block);
		// The heaviest are first: after one too narrow, all are.
		let n = 0;
		while (n < kids.length && kids[n].value * scale >= LEAST)
			n++;
		if (n < kids.length)
			placeRest(block.depth + 1, kids.slice(n), scale);
		while (n--)
			stack.push(kids[n]);
	}
	byId("height").style.height = Math.max(
		graph.rows.length * ROW + 8 - graph.height, 0) + "px";
}

function labelWidth(text) {
	let width = graph.widths.get(text);
	if (width === undefined) {
		width = ink.measureText(text).width;
		graph.widths.set(text, width);
	}
	return width;
}

/* As much of @text as fits, with an ellipsis when it is not all. */
function fitted(text, room) {
	const most = text.slice(0, LABEL_MOST);
	const width = labelWidth(most);
	if (width <= room && most === text)
		return text;
	text = most;
	// Letters differ in width: an estimate, and shorter until it fits.
	let n = Math.floor(text.length * room / width);
	while (n > 0 && ink.measureText(text.slice(0, n) + "…").width > room)
		n--;
	// A single letter tells nothing.
	return n > 1 ? text.slice(0, n).trimEnd() + "…" : "";
}

function paintLabel(item, y, alpha) {
	const room = item.width - 12;
	const name = fitted(nameOf(item.block), room);
	const found = matches(item.block);

	if (!name)
		return;
	ink.fillStyle = found ? theme.foundText : theme.text;
	ink.globalAlpha = alpha;
	ink.fillText(name, item.x + 6, y + ROW / 2 - 0.5);
	// All of it or nothing: without its end it would lack the line.
	const place = item.block.key < 0 || !item.block.up ?
		timeText(item.block.value) : placeOf(item.block, false);
	if (place && labelWidth(name) + 9 + labelWidth(place) <= room) {
		ink.globalAlpha = alpha * 0.62;
		ink.fillText(place, item.x + 15 + labelWidth(name),
			y + ROW / 2 - 0.5);
	}
}

function fillBlock(item, y) {
	// A gap of a pixel to the right, where there is room for one.
	const width = item.width >= 3 ? item.width - 1 : item.width;

	if (width > 6) {
		ink.beginPath();
		ink.roundRect(item.x, y, width, ROW - 2, 2);
		ink.fill();
	} else {
		ink.fillRect(item.x, y, width, ROW - 2);
	}
}

function paintRest(item, y) {
	ink.globalAlpha = settings.query ? 0.35 : 0.7;
	ink.fillStyle = theme.total;
	ink.fillRect(item.x, y, item.width, ROW - 2);
}

function paintBlock(item, y) {
	const block = item.block;
	const found = matches(block);
	let alpha = 1;

	if (settings.query && !found)
		alpha = 0.32;
	else if (block !== graph.zoomed && isWithin(graph.zoomed, block))
		alpha = 0.62;
	ink.globalAlpha = alpha;
	ink.fillStyle = found ? theme.found : colourOf(block);
	fillBlock(item, y);
	if (item.width >= LABEL_FROM)
		paintLabel(item, y, settings.query && !found ? 0.6 :
			Math.max(alpha, 0.85));
}

function paintOutline(block, width, colour) {
	const row = block && graph.rows[block.depth];
	const item = row && row.find((it) => it.block === block);

	if (!item)
		return;
	ink.globalAlpha = 1;
	ink.strokeStyle = colour;
	ink.lineWidth = width;
	ink.beginPath();
	ink.roundRect(item.x + width / 2,
		block.depth * ROW - view.scrollTop + width / 2,
		Math.max(item.width - 1 - width, 1), ROW - 2 - width, 2);
	ink.stroke();
}

function paint() {
	const dots = window.devicePixelRatio || 1;
	const first = Math.floor(view.scrollTop / ROW);
	const last = Math.min(graph.rows.length,
		Math.ceil((view.scrollTop + graph.height) / ROW));

	ink.setTransform(dots, 0, 0, dots, 0, 0);
	ink.clearRect(0, 0, graph.width, graph.height);
	ink.font = theme.font;
	ink.textBaseline = "middle";
	for (let depth = first; depth < last; depth++)
		for (const item of graph.rows[depth])
			(item.block ? paintBlock : paintRest)(item,
				depth * ROW - view.scrollTop);
	paintOutline(graph.over, 1.5, theme.focus);
	if (document.activeElement === canvas)
		paintOutline(graph.focused, 2, theme.focus);
	ink.globalAlpha = 1;
}

/* Paint before the next frame is shown; asking twice paints once. */
function repaint() {
	if (graph.due)
		return;
	graph.due = true;
	requestAnimationFrame((now) => {
		graph.due = false;
		if (graph.glide)
			glideOn(now);
		paint();
	});
}

/* One step of a zoom that is on its way. */
function glideOn(now) {
	const glide = graph.glide;
	glide.begun ??= now;
	const t = Math.min((now - glide.begun) / 200, 1);
	const eased = 1 - (1 - t) ** 3;

	graph.from = glide.from + (glide.goal.x - glide.from) * eased;
	graph.to = glide.to +
		(glide.goal.x + glide.goal.value - glide.to) * eased;
	if (t >= 1) {
		graph.glide = null;
		graph.from = glide.goal.x;
		graph.to = glide.goal.x + glide.goal.value;
	}
	layout();
	if (graph.glide)
		repaint();
	else
		bringIntoView(glide.goal);
}

function bringIntoView(block) {
	const y = block.depth * ROW;

	if (y < view.scrollTop)
		view.scrollTop = Math.max(y - ROW, 0);
	else if (y > view.scrollTop + graph.height - 3 * ROW)
		view.scrollTop = y - graph.height / 3;
}

/* Make the canvas as large as the view; false when it was already. */
function fitCanvas() {
	const dots = window.devicePixelRatio || 1;
	const width = Math.round(view.clientWidth * dots);
	const height = Math.round(view.clientHeight * dots);

	if (canvas.width === width && canvas.height === height)
		return false;
	graph.width = view.clientWidth;
	graph.height = view.clientHeight;
	canvas.style.width = graph.width + "px";
	canvas.style.height = graph.height + "px";
	canvas.width = width;
	canvas.height = height;
	return true;
}

function resize() {
	if (!fitCanvas())
		return;
	layout();
	// At once: setting its size has emptied the canvas.
	paint();
}

/* ---- Words about a block ----------------------------------------------- */

function element(name, className, text) {
	const made = document.createElement(name);
	if (className)
		made.className = className;
	made.textContent = text;
	return made;
}

/* "lines 12 (61 %), 40 (39 %)" of a function's block, or "". */
function linesText(block) {
	if (block.key < 0 || !block.up || onlyLine(block))
		return "";
	const source = settings.inverted ? nodes.own : nodes.total;
	const from = source[settings.measure];
	const weights = new Map();
	places(block).forEach((node, i) => {
		const line = lineOf(nodes.frame[node]);
		weights.set(line, (weights.get(line) || 0) +
			from[block.nodes[i]]);
	});
	const lines = [...weights].sort((a, b) => b[1] - a[1]);
	if (lines.length < 2)
		return "";
	return "lines " + lines.slice(0, 4).map(([line, weight]) =>
		`${line} (${shareText(weight, block.value)})`).join(", ") +
		(lines.length > 4 ? ", …" : "");
}

function processText(block) {
	const p = profile.processes;
	const i = processOf(block.key);
	const parts = [];

	if (block.key === OUTSIDE)
		return "";
	if (p.python[i] && profile.strings[p.python[i]])
		parts.push("Python " + profile.strings[p.python[i]]);
	const parent = p.serial.indexOf(p.parent[i]);
	if (parent >= 0)
		parts.push("child of " + p.pid[parent]);
	if (p.image[i])
		parts.push("after exec");
	parts.push("from " + timeText(p.born[i]) +
		(p.left[i] ? " to " + timeText(p.left[i]) : " on"));
	return parts.join(" · ");
}

const whereText = (block) => !block.up ? "" :
	block.key < 0 ? processText(block) : placeOf(block, true);

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
	for (const measure of Object.keys(MEASURES)) {
		const value = measureOf(block, measure);
		add(MEASURES[measure], timeText(value),
			shareText(value, totalOf(measure)), measure);
	}
	if (!settings.inverted)
		add("self, " + MEASURES[settings.measure], timeText(block.self),
			shareText(block.self, graph.tree.root.value));
	add("samples", countText(measureOf(block, "samples")), "");
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

/* The line at the foot, which can be selected and copied. */
function showDetails() {
	const box = byId("details");
	const block = graph.over || graph.focused;

	if (!block) {
		box.replaceChildren(element("span", "dim",
			matchMedia("(hover: none)").matches ?
				"Tap a block to zoom." :
				"Click a block to zoom. “/” searches, " +
				"Backspace zooms out, Esc shows everything."));
		return;
	}
	const parts = [element("span", "function", nameOf(block))];
	const where = whereText(block);
	if (where)
		parts.push(element("span", "dim", where));
	parts.push(element("span", "", timeText(block.value) + " " +
		MEASURES[settings.measure] + ", " +
		shareText(block.value, graph.tree.root.value)));
	if (!settings.inverted)
		parts.push(element("span", "dim",
			"self " + timeText(block.self) + ", " +
			shareText(block.self, graph.tree.root.value)));
	box.replaceChildren(...parts);
}

function showFacts() {
	const processes = new Set(profile.processes.serial).size;
	const pythons = [...new Set(profile.processes.python)]
		.map((id) => profile.strings[id]).filter(Boolean);
	const parts = [plural(processes, "process", "processes"),
		plural(totalOf("samples"), "sample", "samples")];

	if (pythons.length && pythons.length < 4)
		parts.push("Python " + pythons.join(", "));
	byId("title").textContent = profile.title || "forkflame";
	byId("title").title = profile.title;
	byId("facts").textContent = parts.join(" · ");
	document.title = (profile.title ? profile.title + " · " : "") +
		"forkflame";
}

/* ---- The summary ------------------------------------------------------- */

function summaryValue(key, value) {
	const unit = /_(ns|us|ms)$/.exec(key);
	if (typeof value === "number" && unit)
		return timeText(value * { ns: 1e-3, us: 1, ms: 1e3 }[unit[1]]);
	if (typeof value === "number")
		return countText(value);
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
	const table = document.createElement("table");
	const rows = document.createElement("tbody");

	if (title)
		table.append(element("caption", "", summaryName(title)));
	table.append(rows);
	box.append(table);
	for (const [key, value] of Object.entries(object)) {
		if (value === null)
			continue;
		const isObject = typeof value === "object";
		if (isObject && !title && !Array.isArray(value)) {
			addSummary(box, key, value);
			continue;
		}
		const row = document.createElement("tr");
		row.append(element("th", "", summaryName(key)),
			element("td", "", isObject ?
				shown(JSON.stringify(value)) :
				summaryValue(key, value)));
		rows.append(row);
	}
	if (!rows.childElementCount)
		table.remove();
}

function showSummary() {
	let summary = null;
	try {
		summary = JSON.parse(byId("run").textContent);
	} catch {
		// A summary that cannot be read must not cost the graph.
	}
	if (!summary || typeof summary !== "object")
		return;
	byId("summary").hidden = false;
	addSummary(byId("summary-tables"), "", summary);
}

/* ---- Doing ------------------------------------------------------------- */

function zoom(block, glide) {
	const still = !glide || graph.blocks > ANIMATE_MOST ||
		matchMedia("(prefers-reduced-motion: reduce)").matches;

	graph.zoomed = block;
	graph.focused = block.up ? block : null;
	if (still) {
		graph.glide = null;
		graph.from = block.x;
		graph.to = block.x + block.value;
		layout();
		bringIntoView(block);
	} else {
		graph.glide = { goal: block, from: graph.from, to: graph.to };
	}
	byId("reset").disabled = !block.up;
	hideTip();
	showDetails();
	saveState();
	repaint();
}

function showSearch() {
	const text = byId("matched");
	const total = graph.tree.root.value;

	text.parentElement.classList.toggle("found", !!settings.query);
	text.replaceChildren();
	if (!settings.query)
		return;
	matchNames();
	weighMatches();
	if (search.weight)
		text.append(element("b", "", shareText(search.weight, total)),
			" matched");
	else
		text.append("no match");
}

function setQuery(query) {
	settings.query = query.trim();
	if (byId("search").value.trim() !== settings.query)
		byId("search").value = settings.query;
	showSearch();
	saveState();
	repaint();
}

function showEmpty() {
	const empty = byId("empty");
	const total = graph.tree.root.value;

	empty.hidden = total > 0;
	empty.textContent = totalOf("samples") || totalOf("wall") ?
		`No ${MEASURES[settings.measure]} was recorded.` :
		"Nothing was sampled in this run.";
	canvas.hidden = !total;
}

/* Begin anew after a change of settings; stay at @path where it still is. */
function rebuild(path) {
	for (const measure of Object.keys(MEASURES))
		byId(measure).setAttribute("aria-pressed",
			settings.measure === measure);
	for (const name of ["merged", "inverted", "lines"])
		byId(name).setAttribute("aria-pressed", settings[name]);
	graph.tree = new Tree();
	graph.over = null;
	byId("total").textContent = timeText(graph.tree.root.value);
	byId("total-what").textContent = MEASURES[settings.measure];
	canvas.setAttribute("aria-label", "Flame graph of " +
		MEASURES[settings.measure] +
		": arrow keys move, Enter zooms, Escape shows everything");
	showEmpty();
	showSearch();
	zoom(graph.tree.find(path) || graph.tree.root, false);
}

function toggle(name) {
	settings[name] = !settings[name];
	rebuild([]);
}

function setMeasure(measure) {
	if (measure === settings.measure)
		return;
	settings.measure = measure;
	rebuild(pathOf(graph.zoomed));
}

/* ---- The address: what is shown can be bookmarked ---------------------- */

function saveState() {
	const parts = new URLSearchParams();
	const path = pathOf(graph.zoomed);

	parts.set("measure", settings.measure);
	for (const name of ["merged", "inverted", "lines"])
		if (settings[name])
			parts.set(name, "1");
	if (settings.query)
		parts.set("search", settings.query);
	if (path.length)
		parts.set("zoom", path.join("."));
	try {
		history.replaceState(null, "", "#" + parts);
	} catch {
		// Some browsers forbid it for files, or when it is done often.
	}
}

function loadState() {
	const parts = new URLSearchParams(location.hash.slice(1));
	const measure = parts.get("measure");

	if (Object.hasOwn(MEASURES, measure || ""))
		settings.measure = measure;
	for (const name of ["merged", "inverted", "lines"])
		settings[name] = parts.get(name) === "1";
	settings.query = (parts.get("search") || "").trim().slice(0, 200);
	byId("search").value = settings.query;
	return (parts.get("zoom") || "").split(".").filter(Boolean).map(Number);
}

/* ---- Pointer and keyboard ---------------------------------------------- */

function blockAt(x, y) {
	const box = canvas.getBoundingClientRect();
	const depth = Math.floor((y - box.top + view.scrollTop) / ROW);
	const row = graph.rows[depth];
	const item = row && row.find((it) => x - box.left >= it.x &&
		x - box.left < it.x + it.width);

	return item ? item.block : null;
}

function hideTip() {
	byId("tip").hidden = true;
}

function hover(block) {
	if (block === graph.over)
		return;
	graph.over = block;
	canvas.classList.toggle("over", !!block);
	if (block)
		fillTip(byId("tip"), block);
	showDetails();
	repaint();
}

function onMove(event) {
	if (event.pointerType === "touch" || graph.glide)
		return;
	hover(blockAt(event.clientX, event.clientY));
	byId("tip").hidden = !graph.over;
	if (graph.over)
		placeTip(byId("tip"), event.clientX, event.clientY);
}

function onLeave() {
	hideTip();
	hover(null);
}

function onClick(event) {
	const block = blockAt(event.clientX, event.clientY);

	if (block)
		zoom(block, true);
}

/* The block that an arrow key leads to, or null. */
function neighbour(block, key) {
	const siblings = block.up ? graph.tree.kids(block.up) : [block];
	const i = siblings.indexOf(block);

	return { ArrowUp: block.up,
		 ArrowDown: graph.tree.kids(block)[0],
		 ArrowLeft: siblings[i - 1],
		 ArrowRight: siblings[i + 1] }[key] || null;
}

function onGraphKey(event) {
	const at = graph.focused || graph.zoomed;

	if (event.key === "Enter") {
		zoom(at, true);
	} else if (event.key.startsWith("Arrow")) {
		const next = neighbour(at, event.key);
		graph.over = null;
		hideTip();
		graph.focused = next || at;
		bringIntoView(graph.focused);
		showDetails();
		repaint();
	} else {
		return;
	}
	event.preventDefault();
}

function escape() {
	if (graph.zoomed.up)
		zoom(graph.tree.root, true);
	else if (settings.query)
		setQuery("");
	graph.focused = null;
	hideTip();
	showDetails();
	repaint();
}

function onKey(event) {
	if (event.ctrlKey || event.metaKey || event.altKey)
		return;
	if (event.target === byId("search")) {
		if (event.key !== "Escape")
			return;
		setQuery("");
		byId("search").blur();
	} else if (event.key === "/") {
		byId("search").focus();
	} else if (event.key === "Escape") {
		escape();
	} else if (event.key === "Backspace") {
		zoom(graph.zoomed.up || graph.zoomed, true);
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

function listen() {
	for (const measure of Object.keys(MEASURES))
		byId(measure).addEventListener("click",
			() => setMeasure(measure));
	for (const name of ["merged", "inverted", "lines"])
		byId(name).addEventListener("click", () => toggle(name));
	byId("reset").addEventListener("click",
		() => zoom(graph.tree.root, true));
	byId("search").addEventListener("input", onType);
	canvas.addEventListener("pointermove", onMove);
	canvas.addEventListener("pointerleave", onLeave);
	canvas.addEventListener("click", onClick);
	canvas.addEventListener("keydown", onGraphKey);
	canvas.addEventListener("focus", repaint);
	canvas.addEventListener("blur", repaint);
	view.addEventListener("scroll", () => {
		hideTip();
		repaint();
	}, { passive: true });
	document.addEventListener("keydown", onKey);
	window.addEventListener("hashchange", () => rebuild(loadState()));
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change",
		() => {
			readTheme();
			repaint();
		});
	new ResizeObserver(resize).observe(view);
}

/*
 * For tests, and for whoever opens the console. state() tells what is shown;
 * blocks() where each block is, in pixels of the page. Both are copies.
 */
function expose(started) {
	const state = () => ({
		...settings,
		total: graph.tree.root.value,	// microseconds
		zoomed: nameOf(graph.zoomed),
		depth: graph.zoomed.depth,
		gliding: !!graph.glide,
		matched: settings.query ?
			search.weight / graph.tree.root.value : null,
		blocks: graph.blocks,
		started,	// milliseconds from opening to the graph
	});
	const blocks = () => graph.rows.flatMap((row, depth) => row.filter(
		(item) => item.block).map((item) => ({
		name: nameOf(item.block),
		place: placeOf(item.block, false),
		depth,
		x: item.x + canvas.getBoundingClientRect().left,
		y: depth * ROW - view.scrollTop +
			canvas.getBoundingClientRect().top,
		width: item.width,
		height: ROW - 2,
		value: item.block.value,
		self: item.block.self,
		matched: matches(item.block),
	})));

	window.forkflame = Object.freeze({ state, blocks });
}

function start() {
	readTheme();
	showFacts();
	showSummary();
	if (!totalOf("cpu") && totalOf("wall")) {
		settings.measure = "wall";
		byId("note").hidden = false;
		byId("note").textContent =
			"No on-CPU time was recorded in this run: " +
			"this is wall time.";
	}
	const path = loadState();
	fitCanvas();
	rebuild(path);
	listen();
	// After the first painting, which rebuild has asked for.
	requestAnimationFrame(() => expose(performance.now()));
}

start();
})();
