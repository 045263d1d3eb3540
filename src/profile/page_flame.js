/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flame graph: blocks within a window of the total, painted on a canvas
 * that is as high as the view and moves along with its scrolling.
 */
const ROW = 22;		// pixels from one row to the next
const LEAST = 0.5;	// narrower blocks are not drawn
const LABEL_FROM = 26;	// narrower blocks have no label
const LABEL_MOST = 240;	// characters of a name that are ever drawn
const ANIMATE_MOST = 12000; // with more blocks, zooming does not glide

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
	matched: null,
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

const graphHeight = () => Math.max(graph.rows.length * ROW + 8, graph.height);

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
	byId("height").style.height = graphHeight() - graph.height + "px";
}

/* The upper edge of a row, in pixels of the view. */
const rowTop = (depth) => (settings.flame ?
	graphHeight() - (depth + 1) * ROW : depth * ROW) - view.scrollTop;

const rowAt = (y) => settings.flame ?
	Math.floor((graphHeight() - view.scrollTop - y) / ROW) :
	Math.floor((y + view.scrollTop) / ROW);

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

function changeText(block) {
	const change = block.now - block.base;
	return (change >= 0 ? "+" : "−") +
		valueText(Math.abs(change), settings.measure);
}

function paintLabel(item, y, alpha) {
	const { block } = item;
	const room = item.width - 12;
	const name = fitted(nameOf(block), room);
	const found = matches(block);

	if (!name)
		return;
	ink.fillStyle = found ? theme.foundText : theme.blockText;
	ink.globalAlpha = alpha;
	ink.fillText(name, item.x + 6, y + ROW / 2 - 0.5);
	// All of it or nothing: without its end it would lack the line.
	const place = settings.diff ? changeText(block) :
		block.key < 0 || !block.up ?
		valueText(block.value, settings.measure) :
		placeOf(block, false);
	if (place && labelWidth(name) + 9 + labelWidth(place) <= room) {
		ink.globalAlpha = alpha * 0.62;
		ink.fillText(place, item.x + 15 + labelWidth(name),
			y + ROW / 2 - 0.5);
	}
}

function blockColour(block) {
	if (settings.diff && block.up)
		return changeColour((block.now - block.base) / block.value);
	if (!block.up)
		return theme.total;
	return block.key < 0 ? theme.process : frameColour(block.key);
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
	ink.globalAlpha = search.test ? 0.35 : 0.7;
	ink.fillStyle = theme.total;
	ink.fillRect(item.x, y, item.width, ROW - 2);
}

function paintBlock(item, y) {
	const block = item.block;
	const found = matches(block);
	let alpha = 1;

	if (search.test && !found)
		alpha = 0.32;
	else if (block !== graph.zoomed && isWithin(graph.zoomed, block))
		alpha = 0.62;
	ink.globalAlpha = alpha;
	ink.fillStyle = found ? theme.found : blockColour(block);
	fillBlock(item, y);
	if (item.width >= LABEL_FROM)
		paintLabel(item, y, search.test && !found ? 0.6 :
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
	ink.roundRect(item.x + width / 2, rowTop(block.depth) + width / 2,
		Math.max(item.width - 1 - width, 1), ROW - 2 - width, 2);
	ink.stroke();
}

function paint() {
	const dots = window.devicePixelRatio || 1;

	ink.setTransform(dots, 0, 0, dots, 0, 0);
	ink.clearRect(0, 0, graph.width, graph.height);
	ink.font = theme.font;
	ink.textBaseline = "middle";
	graph.rows.forEach((row, depth) => {
		const y = rowTop(depth);
		if (y < -ROW || y > graph.height)
			return;
		for (const item of row)
			(item.block ? paintBlock : paintRest)(item, y);
	});
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
	const y = rowTop(block.depth);

	if (!block.up)
		view.scrollTop = settings.flame ? graphHeight() : 0;
	else if (y < 0)
		view.scrollTop = Math.max(view.scrollTop + y - ROW, 0);
	else if (y > graph.height - 3 * ROW)
		view.scrollTop += y - graph.height / 3;
}

/* Make a canvas as large as its view; false when it was already. */
function fitCanvas(to, box, size) {
	const dots = window.devicePixelRatio || 1;
	const width = Math.round(box.clientWidth * dots);
	const height = Math.round(box.clientHeight * dots);

	if (to.width === width && to.height === height)
		return false;
	size.width = box.clientWidth;
	size.height = box.clientHeight;
	to.style.width = size.width + "px";
	to.style.height = size.height + "px";
	to.width = width;
	to.height = height;
	return true;
}

function resizeGraph() {
	if (!fitCanvas(canvas, view, graph) || !graph.tree)
		return;
	layout();
	if (settings.flame && !graph.zoomed.up)
		view.scrollTop = graphHeight();
	// At once: setting its size has emptied the canvas.
	paint();
}

/* ---- Doing ------------------------------------------------------------- */

const reducedMotion = () =>
	matchMedia("(prefers-reduced-motion: reduce)").matches;

function zoom(block, glide) {
	graph.zoomed = block;
	graph.focused = block.up ? block : null;
	if (!glide || graph.blocks > ANIMATE_MOST || reducedMotion()) {
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
	repaint();
}

/* A zoom that the browser's back button undoes. */
function zoomTo(block) {
	zoom(block, true);
	saveState(true);
}

function showEmpty() {
	const empty = byId("empty");
	const total = graph.tree.root.value;

	empty.hidden = total > 0;
	empty.textContent = isAnyPicked() || !isWholeTime() ?
		`No ${MEASURES[settings.measure]} in what is selected.` :
		totalOf("samples") || totalOf("wall") ?
		`No ${MEASURES[settings.measure]} was recorded.` :
		"Nothing was sampled in this run.";
	canvas.hidden = !total;
}

/* Begin anew after a change; stay at @path where it still is. */
function rebuildGraph(path) {
	graph.tree = new Tree();
	graph.over = null;
	canvas.setAttribute("aria-label", "Flame graph of " +
		MEASURES[settings.measure] +
		": arrow keys move, Enter zooms, Escape shows everything");
	showEmpty();
	zoom(graph.tree.find(path) || graph.tree.root, false);
}

/* ---- Pointer and keyboard ---------------------------------------------- */

function blockAt(x, y) {
	const box = canvas.getBoundingClientRect();
	const row = graph.rows[rowAt(y - box.top)];
	const item = row && row.find((it) => x - box.left >= it.x &&
		x - box.left < it.x + it.width);

	return item ? item.block : null;
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

function onGraphMove(event) {
	if (event.pointerType === "touch" || graph.glide)
		return;
	hover(blockAt(event.clientX, event.clientY));
	byId("tip").hidden = !graph.over;
	if (graph.over)
		placeTip(byId("tip"), event.clientX, event.clientY);
}

/* The block that an arrow key leads to, or null. */
function neighbour(block, key) {
	const siblings = block.up ? graph.tree.kids(block.up) : [block];
	const i = siblings.indexOf(block);
	const away = settings.flame ? "ArrowUp" : "ArrowDown";
	const back = settings.flame ? "ArrowDown" : "ArrowUp";

	return { [back]: block.up,
		 [away]: graph.tree.kids(block)[0],
		 ArrowLeft: siblings[i - 1],
		 ArrowRight: siblings[i + 1] }[key] || null;
}

function onGraphKey(event) {
	const at = graph.focused || graph.zoomed;

	if (event.key === "Enter") {
		zoomTo(at);
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

function listenGraph() {
	canvas.addEventListener("pointermove", onGraphMove);
	canvas.addEventListener("pointerleave", () => {
		hideTip();
		hover(null);
	});
	canvas.addEventListener("click", (event) => {
		const block = blockAt(event.clientX, event.clientY);
		if (block)
			zoomTo(block);
	});
	canvas.addEventListener("keydown", onGraphKey);
	canvas.addEventListener("focus", repaint);
	canvas.addEventListener("blur", repaint);
	view.addEventListener("scroll", () => {
		hideTip();
		repaint();
	}, { passive: true });
	new ResizeObserver(resizeGraph).observe(view);
}
