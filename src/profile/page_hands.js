/* SPDX-License-Identifier: Apache-2.0 */
/* Pointer and keyboard on the lanes: picking processes and time. */

const DRAG_FROM = 4;	// pixels before a press becomes a drag
const GRIP = 5;		// pixels around an edge of the picked time
const SHORTEST = 20;	// microseconds in view

function laneAt(event) {
	const box = lanesCanvas.getBoundingClientRect();
	const x = event.clientX - box.left;
	const y = event.clientY - box.top;
	const index = y < AXIS ? -1 :
		rowIndexAt(y - AXIS + lanesView.scrollTop);
	return { x, y, index, row: rows.list[index] || null };
}

function clampTime(us) {
	return Math.min(Math.max(us, profile.from), profile.until);
}

function setView(from, until) {
	const length = Math.min(Math.max(until - from, SHORTEST),
		profile.until - profile.from);
	from = Math.min(Math.max(from, profile.from), profile.until - length);
	lanes.from = from;
	lanes.until = from + length;
	layoutLanes();
	showRangeButtons();
}

/* Zoom the time by @factor around @at. */
function zoomTime(at, factor) {
	setView(at - (at - lanes.from) * factor,
		at + (lanes.until - at) * factor);
}

function showRangeButtons() {
	byId("whole").disabled = lanes.from <= profile.from &&
		lanes.until >= profile.until;
	byId("closer").disabled = isWholeTime();
	byId("clear").disabled = isWholeTime() && !isAnyPicked();
}

/* ---- Picking ----------------------------------------------------------- */

function setTime(from, until) {
	pick.from = clampTime(Math.min(from, until));
	pick.until = clampTime(Math.max(from, until));
	// Less than a pixel is a click that slipped.
	if (pick.until - pick.from < SHORTEST) {
		pick.from = profile.from;
		pick.until = profile.until;
	}
	repaintLanes();
	pickedLater();
}

function clearPick() {
	pick.from = profile.from;
	pick.until = profile.until;
	pick.processes.clear();
	pick.threads.clear();
	pickChanged();
	repaintLanes();
	picked(true);
}

/*
 * Pick a row: alone, or with @add beside what is picked already; with @deep its
 * descendants as well.
 */
function pickRow(row, add, deep) {
	const was = isRowPicked(row);
	const only = was && (row.kind === "thread" ? pick.threads.size === 1 &&
		!pick.processes.size :
		pick.processes.size === hiddenIn(row, deep).length);

	if (!add) {
		pick.processes.clear();
		pick.threads.clear();
	}
	if (row.kind === "thread")
		pick.threads[add && was ? "delete" : "add"](row.thread);
	else
		for (const process of hiddenIn(row, deep))
			pick.processes[add && was ? "delete" : "add"](process);
	if (!add && only) {
		pick.processes.clear();
		pick.threads.clear();
	}
	pickChanged();
	repaintLanes();
	picked(true);
}

/* ---- Pointer ----------------------------------------------------------- */

const nearEdge = (x) => isWholeTime() ? null :
	Math.abs(x - timeX(pick.from)) <= GRIP ? "from" :
	Math.abs(x - timeX(pick.until)) <= GRIP ? "until" : null;

function onLanesDown(event) {
	if (event.button !== 0)
		return;
	const at = laneAt(event);
	const time = xTime(at.x);
	const edge = at.x >= lanes.gutter ? nearEdge(at.x) : null;
	const inside = at.y < AXIS && !isWholeTime() && !edge &&
		time > pick.from && time < pick.until;

	lanes.drag = { ...at, time, edge, inside, moved: false,
		from: pick.from, until: pick.until, add: event.ctrlKey ||
			event.metaKey || event.shiftKey, deep: event.altKey };
	if (event.pointerType !== "touch")
		lanesCanvas.setPointerCapture(event.pointerId);
}

function dragTo(x) {
	const drag = lanes.drag;
	const time = xTime(x);

	if (drag.edge === "from")
		setTime(time, drag.until);
	else if (drag.edge === "until")
		setTime(drag.from, time);
	else if (drag.inside) {
		const length = drag.until - drag.from;
		const from = Math.min(Math.max(drag.from + time - drag.time,
			profile.from), profile.until - length);
		setTime(from, from + length);
	} else {
		setTime(drag.time, time);
	}
}

function onLanesMove(event) {
	const at = laneAt(event);
	const drag = lanes.drag;

	if (drag && drag.x >= lanes.gutter) {
		if (Math.abs(at.x - drag.x) > DRAG_FROM)
			drag.moved = true;
		if (drag.moved) {
			hideTip();
			dragTo(at.x);
			return;
		}
	}
	lanesCanvas.style.cursor = at.x >= lanes.gutter && nearEdge(at.x) ?
		"ew-resize" : at.x >= lanes.gutter ? "crosshair" : "pointer";
	if (at.row !== lanes.over) {
		lanes.over = at.row;
		repaintLanes();
	}
	showLaneTip(event, at);
}

function onLanesUp() {
	const drag = lanes.drag;

	lanes.drag = null;
	if (!drag)
		return;
	if (drag.moved) {
		picked(true);
		return;
	}
	if (!drag.row) {
		if (drag.y < AXIS && !drag.inside && !isWholeTime()) {
			setTime(profile.from, profile.until);
			picked(true);
		}
		return;
	}
	lanes.at = drag.index;
	const { row } = drag;
	if (drag.x < lanes.gutter && row.opens &&
	    drag.x < 12 + Math.min(row.depth, 8) * INDENT + 11) {
		toggleRow(row);
	} else if (drag.x < lanes.gutter && drag.x > lanes.gutter - 46 &&
		   manyThreads(row)) {
		revealThreads(row.process, !rows.threads.has(row.process));
		rowsChanged();
	} else {
		pickRow(row, drag.add, drag.deep);
	}
}

/* More rows or fewer: make room, unless a height was chosen. */
function rowsChanged() {
	if (!lanes.chosen)
		setLanesHeight(fittingHeight());
	layoutLanes();
}

function toggleRow(row) {
	setRowOpen(row, !row.open);
	rowsChanged();
}

function onWheel(event) {
	const box = lanesCanvas.getBoundingClientRect();
	const sideways = event.shiftKey ? event.deltaY : event.deltaX;

	if (event.ctrlKey || event.metaKey) {
		event.preventDefault();
		zoomTime(xTime(Math.max(event.clientX - box.left,
			lanes.gutter)), Math.exp(event.deltaY / 300));
	} else if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 :
		event.deltaY)) {
		event.preventDefault();
		const move = sideways * (lanes.until - lanes.from) /
			lanes.width;
		setView(lanes.from + move, lanes.until + move);
	}
}

/* ---- Words ------------------------------------------------------------- */

/* What a thread did at a time: "work (app.py:30)". */
function doingAt(list, time) {
	for (const thread of list)
		for (let i = spans.first[thread];
		     i < spans.first[thread + 1]; i++)
			if (spans.start[i] <= time && time < spans.end[i]) {
				const frame = stacks.frame[spans.stack[i]];
				return frame < 0 ? "" :
					`${functionOf(frame)} (${baseName(
						fileOf(frame))}:${
						lineOf(frame)})`;
			}
	return "";
}

const STATE_WORDS = [["cpu", "on CPU"], ["ready", "ready, without a CPU"],
	["gil", "waiting for the GIL"],
	["stop", "stopped"]];

function rowWords(row, column) {
	const columns = columnsOf(row);
	if (row.kind === "fold") {
		const alive = columns.alive[column] || 0;
		const gil = columns.gil[column].toFixed(1);
		return [`${alive.toFixed(alive < 10 ? 1 : 0)} alive, ` +
			`${columns.cpu[column].toFixed(1)} on CPU, ` +
			`${columns.ready[column].toFixed(1)} ready, ` +
			`${gil} waiting for the GIL`];
	}
	return [STATE_WORDS.filter(([key]) => columns[key][column] > 0.005)
		.map(([key, words]) =>
			`${shareText(columns[key][column], 1)} ${words}`)
		.join(", ") || "waiting"];
}

function rowFacts(row) {
	if (row.kind === "fold") {
		const bad = row.members.filter((process) =>
			processes.ended[process] && endedBadly(process));
		return bad.length ? plural(bad.length, "bad end", "bad ends") :
			"";
	}
	return lifeText(row.process);
}

function showLaneTip(event, at) {
	const tip = byId("tip");
	const note = at.y < AXIS ? profile.notes.find((n) =>
		Math.abs(timeX(n.at) - at.x) < 6) : null;

	if (event.pointerType === "touch" || !at.row && !note) {
		hideTip();
		return;
	}
	if (note) {
		tip.replaceChildren(element("div", "function", noteText(note)),
			element("div", "dim", "at " + timeText(note.at)));
	} else {
		const time = xTime(at.x);
		const column = Math.floor(at.x - lanes.gutter);
		tip.replaceChildren(element("div", "function",
			rowName(at.row)));
		const facts = rowFacts(at.row);
		if (facts)
			tip.append(element("div", "dim", facts));
		if (column >= 0 && column < columnsOf(at.row).cpu.length) {
			const doing = at.row.kind === "fold" ? "" :
				doingAt(threadsIn(at.row), time);
			for (const words of rowWords(at.row, column))
				tip.append(element("div", "",
					`${timeText(time)}: ${words}`));
			if (doing)
				tip.append(element("div", "code", doing));
		}
	}
	tip.hidden = false;
	placeTip(tip, event.clientX, event.clientY);
}

/* ---- Keyboard ---------------------------------------------------------- */

function moveTo(index) {
	lanes.at = Math.min(Math.max(index, 0), rows.list.length - 1);
	const row = rows.list[lanes.at];
	if (!row)
		return;
	const room = lanes.height - AXIS;
	if (row.top < lanesView.scrollTop)
		lanesView.scrollTop = row.top;
	else if (row.top + row.height > lanesView.scrollTop + room)
		lanesView.scrollTop = row.top + row.height - room;
	lanes.words = [rowName(row), rowFacts(row),
		isAnyPicked() && isRowPicked(row) ? "selected" : "",
		row.opens ? row.open ? "unfolded" : "folded" : ""]
		.filter(Boolean).join(" · ");
	showDetails();
	repaintLanes();
}

/* Move an edge of the picked time by a part of what is in view. */
function nudge(edge, direction) {
	const step = direction * (lanes.until - lanes.from) / 50;
	if (edge === "from")
		setTime(Math.min(pick.from + step, pick.until - SHORTEST),
			pick.until);
	else
		setTime(pick.from, Math.max(pick.until + step,
			pick.from + SHORTEST));
}

function sideKey(event, row, direction) {
	if (event.shiftKey)
		nudge("until", direction);
	else if (event.altKey)
		nudge("from", direction);
	else if (row && row.opens && row.open !== direction > 0) {
		toggleRow(row);
		moveTo(lanes.at);
	} else if (row && manyThreads(row) &&
		 rows.threads.has(row.process) !== direction > 0) {
		revealThreads(row.process, direction > 0);
		rowsChanged();
	} else if (direction < 0 && row) {
		let up = lanes.at;
		while (up > 0 && rows.list[up].depth >= row.depth)
			up--;
		moveTo(up);
	}
}

/* Pick the row of the keyboard, and say what has become of it. */
function pickAt(add, deep) {
	if (!rows.list[lanes.at])
		return;
	pickRow(rows.list[lanes.at], add, deep);
	moveTo(lanes.at);
}

function onLanesKey(event) {
	const row = rows.list[lanes.at];
	const middle = (lanes.from + lanes.until) / 2;
	const page = Math.max(Math.floor(lanes.height / 24) - 2, 1);
	const doing = {
		ArrowDown: () => moveTo(lanes.at + 1),
		ArrowUp: () => moveTo(lanes.at - 1),
		PageDown: () => moveTo(lanes.at + page),
		PageUp: () => moveTo(lanes.at - page),
		Home: () => moveTo(0),
		End: () => moveTo(rows.list.length - 1),
		ArrowRight: () => sideKey(event, row, 1),
		ArrowLeft: () => sideKey(event, row, -1),
		Enter: () => pickAt(event.ctrlKey || event.shiftKey,
			event.altKey),
		" ": () => pickAt(true, event.altKey),
		"+": () => zoomTime(middle, 0.6),
		"=": () => zoomTime(middle, 0.6),
		"-": () => zoomTime(middle, 1 / 0.6),
	}[event.key];

	if (!doing)
		return;
	doing();
	event.preventDefault();
	event.stopPropagation();
}

function listenLanes() {
	lanesCanvas.addEventListener("pointerdown", onLanesDown);
	lanesCanvas.addEventListener("pointermove", onLanesMove);
	lanesCanvas.addEventListener("pointerup", onLanesUp);
	lanesCanvas.addEventListener("pointercancel", () => {
		lanes.drag = null;
	});
	lanesCanvas.addEventListener("pointerleave", () => {
		lanes.over = null;
		hideTip();
		repaintLanes();
	});
	lanesCanvas.addEventListener("dblclick", (event) => {
		if (laneAt(event).x >= lanes.gutter && !isWholeTime())
			setView(pick.from, pick.until);
	});
	lanesCanvas.addEventListener("wheel", onWheel, { passive: false });
	lanesCanvas.addEventListener("keydown", onLanesKey);
	lanesCanvas.addEventListener("focus", () =>
		moveTo(Math.max(lanes.at, 0)));
	lanesCanvas.addEventListener("blur", () => {
		lanes.words = "";
		showDetails();
		repaintLanes();
	});
	lanesView.addEventListener("scroll", () => {
		hideTip();
		repaintLanes();
	}, { passive: true });
	byId("closer").addEventListener("click",
		() => setView(pick.from, pick.until));
	byId("whole").addEventListener("click",
		() => setView(profile.from, profile.until));
	byId("clear").addEventListener("click", clearPick);
	for (const id of ["since", "till"])
		byId(id).addEventListener("change", () => {
			const number = (name, other) => {
				const value = byId(name).value.trim();
				return value && Number.isFinite(Number(value)) ?
					Number(value) * 1e6 : other;
			};
			setTime(number("since", profile.from),
				number("till", profile.until));
			picked(true);
		});
	new ResizeObserver(resizeLanes).observe(lanesView);
}
