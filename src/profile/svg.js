/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What makes out_svg.c's flame graph move: it fills the window, a click zooms,
 * and there is a search. Without it the picture stands as it was written. Each
 * block is a <g> of #frames: data-x and data-w are its place in the whole, in
 * the units of data-total; the lines of its <title> are its name, its place in
 * the source (if it has one) and its numbers.
 *
 * Names come from strangers: they are read and written as text only.
 */
"use strict";

(() => {
const EDGE = 10;	// pixels left and right of the blocks
const LEAST = 0.1;	// narrower blocks are not shown
const CHAR = 7.23;	// a character's width
const XHTML = "http://www.w3.org/1999/xhtml";

const svg = document.getElementById("flame");
const total = Number(svg.dataset.total);
const top0 = Number(svg.dataset.top);
const rowHeight = Number(svg.dataset.row);
const height = Number(svg.getAttribute("height"));
const details = document.getElementById("details");
const facts = details.textContent;

/* ---- The blocks, in the order of the tree: a parent, then all below it --- */

function readBlock(g) {
	const rect = g.querySelector("rect");
	const lines = g.querySelector("title").textContent.split("\n");

	return {
		g, rect, lines,
		text: g.querySelector("text"),
		name: lines.slice(0, -1).join(" "),
		x: Number(g.dataset.x),
		w: Number(g.dataset.w),
		row: Math.round((rect.getAttribute("y") - top0) / rowHeight),
		rest: g.classList.contains("rest"),
	};
}

const blocks = Array.from(svg.querySelectorAll("#frames > g"), readBlock);
const blockOf = new Map(blocks.map((block) => [block.g, block]));

let width = 1200;
let zoomed = blocks[0];
let at = null;		// where the keyboard is
let pattern = null;

const isAbove = (block) => block.row < zoomed.row &&
	block.x <= zoomed.x && block.x + block.w >= zoomed.x + zoomed.w;

/* East Asian characters and symbols take two places. */
const places = (c) => c.codePointAt(0) >= 0x1100 ? 2 : 1;

function fitted(text, room) {
	let most = Math.floor((room - 6) / CHAR);
	let used = 0;
	let end = 0;

	if (most < 3)
		return "";
	for (const c of text) {
		used += places(c);
		if (used > most)
			return text.slice(0, end) + "…";
		if (used < most)
			end += c.length;
	}
	return text;
}

function label(block, x, room) {
	const text = fitted(block.lines[0], room);

	if (!block.text) {
		if (!text || block.rest)
			return;
		block.text = document.createElementNS(svg.namespaceURI, "text");
		block.text.setAttribute("y", Number(
			block.rect.getAttribute("y")) + rowHeight - 5);
		block.g.append(block.text);
	}
	block.text.textContent = text;
	block.text.setAttribute("x", x + 3);
}

function place(block) {
	const scale = (width - 2 * EDGE) / zoomed.w;
	const from = Math.max((block.x - zoomed.x) * scale, 0);
	const to = Math.min((block.x + block.w - zoomed.x) * scale,
		width - 2 * EDGE);
	const above = isAbove(block);
	const hidden = to - from < LEAST || (block.row < zoomed.row && !above);

	block.g.style.display = hidden ? "none" : "";
	block.g.classList.toggle("above", above);
	if (hidden)
		return;
	block.rect.setAttribute("x", EDGE + from);
	block.rect.setAttribute("width", to - from);
	label(block, EDGE + from, to - from);
}

/* ---- Search -------------------------------------------------------------- */

/*
 * The share of what is zoomed to that goes through a block that matches. Those
 * below one that was counted already follow it, and begin before its end.
 */
function search() {
	const end = zoomed.x + zoomed.w;
	let counted = 0;
	let matched = 0;

	for (const block of blocks) {
		const found = !!pattern && !block.rest &&
			pattern.test(block.name);
		block.g.classList.toggle("found", found);
		const from = Math.max(block.x, counted, zoomed.x);
		const to = Math.min(block.x + block.w, end);
		if (!found || to <= from)
			continue;
		matched += to - from;
		counted = to;
	}
	matchedText.textContent = !pattern ? "" :
		(100 * matched / zoomed.w).toFixed(1) + " % matched";
}

/* ---- Tools --------------------------------------------------------------- */

const tools = document.createElementNS(svg.namespaceURI, "g");
tools.id = "tools";

function tool(words, does) {
	const text = document.createElementNS(svg.namespaceURI, "text");

	text.classList.add("words");
	text.setAttribute("y", 48);
	text.setAttribute("text-anchor", "end");
	text.textContent = words;
	if (does) {
		text.setAttribute("tabindex", 0);
		text.setAttribute("role", "button");
		text.addEventListener("click", does);
		text.addEventListener("keydown", (event) => {
			if (event.key === "Enter")
				does();
		});
	}
	tools.append(text);
	return text;
}

const resetText = tool("Reset zoom", () => zoom(blocks[0]));
const searchText = tool("Search", openSearch);
const matchedText = tool("", null);
const box = document.createElementNS(svg.namespaceURI, "foreignObject");
const input = document.createElementNS(XHTML, "input");

input.setAttribute("placeholder", "Search: a regular expression");
input.setAttribute("aria-label", "Search");
input.setAttribute("spellcheck", "false");
input.addEventListener("input", onType);
box.setAttribute("height", 26);
box.setAttribute("y", 6);
box.style.display = "none";
box.append(input);
tools.append(box);

function onType() {
	const words = input.value;

	input.classList.remove("wrong");
	pattern = null;
	try {
		if (words)
			pattern = new RegExp(words, "iu");
	} catch {
		input.classList.add("wrong");
	}
	search();
}

function openSearch() {
	box.style.display = "";
	input.focus();
	input.select();
}

function closeSearch() {
	input.value = "";
	box.style.display = "none";
	input.blur();
	onType();
}

function placeTools() {
	searchText.setAttribute("x", width - EDGE);
	resetText.setAttribute("x", width - EDGE - 70);
	resetText.style.display = zoomed === blocks[0] ? "none" : "";
	matchedText.setAttribute("x", width - EDGE - 165);
	box.setAttribute("x", Math.max(width - EDGE - 300, EDGE));
	box.setAttribute("width", Math.min(300, width - 2 * EDGE));
}

/* ---- What people do ------------------------------------------------------ */

function draw() {
	svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
	svg.setAttribute("width", width);
	blocks.forEach(place);
	placeTools();
	search();
}

function resize() {
	const room = window.innerWidth;

	/* Not so in an image, nor where nothing is laid out. */
	if (room >= 100)
		width = room;
	draw();
}

function zoom(block) {
	zoomed = block;
	draw();
}

function show(block) {
	details.textContent = block ? block.lines.join(" · ") : facts;
}

function go(block) {
	if (!block)
		return;
	if (at)
		at.g.classList.remove("at");
	at = block;
	at.g.classList.add("at");
	show(at);
	at.rect.scrollIntoView({ block: "nearest" });
}

const seen = (block) => block.g.style.display !== "none";
const within = (a, b) => a.x >= b.x && a.x + a.w <= b.x + b.w;

/* The block that an arrow key leads to from @at. */
function neighbour(key) {
	const here = at || zoomed;

	const row = here.row + (key === "ArrowUp" ? -1 :
		key === "ArrowDown" ? 1 : 0);
	const there = blocks.filter((b) => b.row === row && !b.rest && seen(b));

	if (key === "ArrowUp")
		return there.find((b) => within(here, b));
	if (key === "ArrowDown")
		return there.find((b) => within(b, here));
	if (key === "ArrowLeft")
		return there.reverse().find((b) => b.x < here.x);
	return there.find((b) => b.x > here.x);
}

function onKey(event) {
	const key = event.key;

	if (key === "F3" || ((event.ctrlKey || event.metaKey) && key === "f")) {
		event.preventDefault();
		openSearch();
	} else if (key === "Escape") {
		if (box.style.display !== "none")
			closeSearch();
		else
			zoom(blocks[0]);
	} else if (event.target !== input && !event.altKey && !event.ctrlKey) {
		if (key === "/") {
			event.preventDefault();
			openSearch();
		} else if (key.startsWith("Arrow")) {
			event.preventDefault();
			go(neighbour(key));
		} else if (key === "Enter" && at &&
				!tools.contains(event.target)) {
			zoom(at);
		}
	}
}

const under = (event) => blockOf.get(event.target.closest("#frames > g"));

function start() {
	const frames = document.getElementById("frames");

	svg.classList.add("live");
	svg.append(tools);
	frames.addEventListener("click", (event) => {
		const block = under(event);
		if (block && !block.rest)
			zoom(block);
	});
	frames.addEventListener("mouseover", (event) => show(under(event)));
	frames.addEventListener("mouseleave", () => show(at));
	window.addEventListener("keydown", onKey);
	window.addEventListener("resize", resize);
	resize();
}

if (blocks.length)
	start();
})();
