/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lifelines of processes along time, painted on a canvas that is as high as its
 * view: birth, exec, end, and in between what was done. A fold shows how many
 * of its members were alive, and of them how many ran.
 */
const AXIS = 26;	// height of the scale above the lanes
const INDENT = 14;
const MEMBER_MARKS = 300; // of a fold's members as many bad ends are marked

const lanesView = byId("lanes-view");
const lanesCanvas = byId("lanes");
const pen = lanesCanvas.getContext("2d");

const lanes = {
	from: profile.from, until: profile.until, // the time that is in view
	width: 0, height: 0, gutter: 240,
	at: -1,		// row of the keyboard
	over: null,	// row below the pointer
	drag: null,
	due: false,
	chosen: false,	// the height was, by hand
	words: "",	// about the row of the keyboard
	cache: new Map(), // columns by row, of this time and width
};

const timeX = (us) => lanes.gutter + (us - lanes.from) *
	(lanes.width - lanes.gutter) / (lanes.until - lanes.from);
const xTime = (x) => lanes.from + (x - lanes.gutter) *
	(lanes.until - lanes.from) / (lanes.width - lanes.gutter);

/* ---- Painting ---------------------------------------------------------- */

/* Bars of @values from @base upwards, neighbours of one height as one. */
function paintBars(values, colour, base, unit, most, under) {
	const left = lanes.gutter;
	pen.fillStyle = colour;
	pen.beginPath();
	let begin = 0;
	const heightAt = (i) => {
		const low = under ? Math.min(under[i] * unit, most) : 0;
		const high = Math.min(low + values[i] * unit, most);
		return high - low < 0.15 ? 0 :
			Math.round(Math.max(high - low, 1)) * 1000 +
			Math.round(low);
	};
	let height = heightAt(0);
	for (let i = 1; i <= values.length; i++) {
		const next = i < values.length ? heightAt(i) : -1;
		if (next === height)
			continue;
		if (height > 0) {
			const tall = Math.floor(height / 1000);
			const low = height % 1000;
			pen.rect(left + begin, base - low - tall, i - begin,
				tall);
		}
		begin = i;
		height = next;
	}
	pen.fill();
}

function paintEnd(process, y, half) {
	const x = timeX(processes.left[process]);
	if (!processes.ended[process] || x < lanes.gutter || x > lanes.width)
		return;
	const bad = endedBadly(process);
	pen.fillStyle = bad ? theme.bad : theme.soft;
	pen.fillRect(x - 1, y - half, 2, 2 * half);
	if (!bad)
		return;
	pen.beginPath();
	pen.arc(x, y, 4, 0, 7);
	pen.fill();
	const text = statusText(processes.status[process]);
	const width = pen.measureText(text).width;
	if (x + 8 + width < lanes.width)
		pen.fillText(text, x + 8, y + 0.5);
	else
		pen.fillText(text, x - 8 - width, y + 0.5);
}

function paintExecs(process, y) {
	pen.fillStyle = theme.mark;
	for (const image of profile.imagesOf[process].slice(1)) {
		const x = timeX(images.at[image]);
		if (x < lanes.gutter || x > lanes.width)
			continue;
		pen.beginPath();
		pen.moveTo(x, y - 6);
		pen.lineTo(x + 5, y);
		pen.lineTo(x, y + 6);
		pen.lineTo(x - 5, y);
		pen.fill();
	}
}

function paintLife(row, y) {
	const thread = row.kind === "thread";
	const table = thread ? threads : processes;
	const index = thread ? row.thread : row.process;
	const left = Math.max(timeX(table.born[index]), lanes.gutter);
	const right = Math.min(timeX(table.left[index]), lanes.width);
	const half = row.height / 2;
	const base = y + row.height - 4;
	const tall = row.height - 8;
	const columns = columnsOf(row);

	if (right < left)
		return;
	pen.fillStyle = theme.waiting;
	pen.fillRect(left, base - 3, Math.max(right - left, 1), 3);
	paintBars(columns.stop, theme.stopped, base, tall, tall);
	paintBars(columns.cpu, theme.onCpu, base, tall, tall);
	paintBars(columns.ready, theme.ready, base, tall, tall, columns.cpu);
	paintBars(columns.gil, theme.gilWait, base, tall, tall,
		columns.upToReady);
	if (thread)
		return;
	if (!processes.before[index] && timeX(table.born[index]) >= left) {
		pen.fillStyle = theme.soft;
		pen.fillRect(left, y + 4, 1.5, tall);
	}
	paintExecs(index, y + half);
	paintEnd(index, y + half, tall / 2);
}

function paintFold(row, y) {
	const columns = columnsOf(row);
	const base = y + row.height - 5;
	const tall = row.height - 10;
	const unit = tall / columns.busy;
	let marks = 0;

	paintBars(columns.alive, theme.waiting, base, tall / columns.most,
		tall);
	paintBars(columns.cpu, theme.onCpu, base, unit, tall);
	paintBars(columns.ready, theme.ready, base, unit, tall, columns.cpu);
	paintBars(columns.gil, theme.gilWait, base, unit, tall,
		columns.upToReady);
	pen.fillStyle = theme.bad;
	for (const process of row.members) {
		const x = timeX(processes.left[process]);
		if (!processes.ended[process] || !endedBadly(process) ||
		    x < lanes.gutter || x > lanes.width)
			continue;
		if (marks++ >= MEMBER_MARKS)
			break;
		pen.beginPath();
		pen.arc(x, y + 5, 3, 0, 7);
		pen.fill();
	}
}

function shortened(text, room) {
	if (room < 12)
		return "";
	if (pen.measureText(text).width <= room)
		return text;
	let n = Math.min(text.length, Math.ceil(room / 4));
	while (n > 0 && pen.measureText(text.slice(0, n) + "…").width > room)
		n--;
	return text.slice(0, n) + "…";
}

const manyThreads = (row) => row.kind === "process" &&
	profile.threadsOf[row.process].length > 1 ?
	profile.threadsOf[row.process].length + " thr" : "";

function foldText(row) {
	const { most, peak, busy } = columnsOf(row);
	const n = pickedOf(row);
	const own = busy < most && peak ? " (own scale)" : "";

	return (n ? `${countText(n)} selected, ` : "") +
		`up to ${countText(most)} alive, ${peak.toFixed(1)} busy${own}`;
}

function paintName(row, y, alpha) {
	const x = 12 + Math.min(row.depth, 8) * INDENT;
	const middle = y + row.height / 2 + 0.5;
	const more = manyThreads(row);
	let room = lanes.gutter - x - 22;

	pen.globalAlpha = alpha;
	if (row.opens) {
		pen.fillStyle = theme.soft;
		pen.beginPath();
		if (row.open) {
			pen.moveTo(x - 1, middle - 2.5);
			pen.lineTo(x + 7, middle - 2.5);
			pen.lineTo(x + 3, middle + 2.5);
		} else {
			pen.moveTo(x + 1, middle - 4);
			pen.lineTo(x + 6, middle);
			pen.lineTo(x + 1, middle + 4);
		}
		pen.fill();
	}
	if (more) {
		pen.font = theme.small;
		const width = pen.measureText(more).width;
		pen.fillStyle = theme.soft;
		pen.fillText((rows.threads.has(row.process) ? "" : "") + more,
			lanes.gutter - 10 - width, middle);
		room -= width + 8;
	}
	pen.font = row.kind === "thread" ? theme.small : theme.font;
	pen.fillStyle = row.kind === "thread" ? theme.soft : theme.text;
	pen.fillText(shortened(rowName(row), room), x + 12,
		row.kind === "fold" ? middle - 8 : middle);
	if (row.kind === "fold") {
		pen.font = theme.small;
		pen.fillStyle = theme.soft;
		pen.fillText(shortened(foldText(row), room), x + 12,
			middle + 8);
	}
	pen.font = theme.small;
	pen.globalAlpha = 1;
}

function paintRow(row, index) {
	const y = AXIS + row.top - lanesView.scrollTop;
	const picked = isAnyPicked() && isRowPicked(row);

	if (picked) {
		pen.fillStyle = theme.accentBack;
		pen.fillRect(0, y, lanes.gutter - 1, row.height);
		pen.fillStyle = theme.accent;
		pen.fillRect(0, y, 3, row.height);
	} else if (row === lanes.over) {
		pen.fillStyle = theme.sunk;
		pen.fillRect(0, y, lanes.width, row.height);
	}
	const dim = isAnyPicked() && !picked && !pickedOf(row);
	paintName(row, y, dim ? 0.55 : 1);
	pen.globalAlpha = dim ? 0.4 : 1;
	if (row.kind === "fold")
		paintFold(row, y);
	else
		paintLife(row, y);
	pen.globalAlpha = 1;
	if (index === lanes.at && document.activeElement === lanesCanvas) {
		pen.strokeStyle = theme.accent;
		pen.lineWidth = 2;
		pen.strokeRect(1, y + 1, lanes.width - 2, row.height - 2);
	}
}

/* Steps of 1, 2 or 5 of which about @n fit. */
function niceStep(length, n) {
	const rough = length / n;
	const unit = 10 ** Math.floor(Math.log10(rough));
	for (const step of [1, 2, 5])
		if (step * unit >= rough)
			return step * unit;
	return 10 * unit;
}

function axisText(us, step) {
	const digits = Math.max(0, -Math.floor(Math.log10(step / 1e6) + 1e-9));
	const seconds = us / 1e6;
	if (profile.until >= 120e6 && digits === 0) {
		const rest = Math.round(seconds % 60);
		return Math.floor(seconds / 60) + ":" +
			String(rest).padStart(2, "0");
	}
	return seconds.toFixed(Math.min(digits, 6)) + " s";
}

const NOTE_WORDS = {
	1: (value) => value ? `${countText(value)} events were lost` :
		"events were lost",
	2: (value) => `the interval became ${timeText(value / 1e3)}`,
	3: (value) => `forkflame did not run for ${timeText(value / 1e3)}`,
	4: (value) => plural(value, "process was", "processes were") +
		" found late",
};

const noteText = (note) =>
	(NOTE_WORDS[note.kind] || (() => "a note of an unknown kind"))(
		note.value);

function paintAxis() {
	const step = niceStep(lanes.until - lanes.from,
		Math.max((lanes.width - lanes.gutter) / 90, 1));

	pen.fillStyle = theme.card;
	pen.fillRect(0, 0, lanes.width, AXIS);
	pen.fillStyle = theme.line;
	pen.fillRect(0, AXIS - 1, lanes.width, 1);
	pen.font = theme.small;
	pen.fillStyle = theme.soft;
	for (let at = Math.ceil(lanes.from / step) * step; at <= lanes.until;
	     at += step) {
		const x = timeX(at);
		const text = axisText(at, step);
		pen.fillRect(x, AXIS - 5, 1, 4);
		if (x + pen.measureText(text).width + 4 < lanes.width)
			pen.fillText(text, x + 4, AXIS / 2);
	}
	for (const note of profile.notes) {
		const x = timeX(note.at);
		if (x < lanes.gutter || x > lanes.width)
			continue;
		pen.fillStyle = theme.bad;
		pen.beginPath();
		pen.moveTo(x, AXIS - 2);
		pen.lineTo(x - 5, AXIS - 11);
		pen.lineTo(x + 5, AXIS - 11);
		pen.fill();
		pen.globalAlpha = 0.35;
		pen.fillRect(x - 0.5, AXIS, 1, lanes.height - AXIS);
		pen.globalAlpha = 1;
	}
}

function paintGrid() {
	const step = niceStep(lanes.until - lanes.from,
		Math.max((lanes.width - lanes.gutter) / 90, 1));
	pen.fillStyle = theme.line;
	pen.globalAlpha = 0.5;
	for (let at = Math.ceil(lanes.from / step) * step; at <= lanes.until;
	     at += step)
		pen.fillRect(timeX(at), AXIS, 1, lanes.height);
	pen.globalAlpha = 1;
}

/* The time that is picked: all else is shaded. */
function paintPicked() {
	if (isWholeTime())
		return;
	const left = Math.max(timeX(pick.from), lanes.gutter);
	const right = Math.min(timeX(pick.until), lanes.width);

	pen.fillStyle = theme.shade;
	pen.fillRect(lanes.gutter, AXIS, Math.max(left - lanes.gutter, 0),
		lanes.height);
	pen.fillRect(right, AXIS, Math.max(lanes.width - right, 0),
		lanes.height);
	pen.fillStyle = theme.accent;
	pen.globalAlpha = 0.22;
	pen.fillRect(left, 0, Math.max(right - left, 0), AXIS - 1);
	pen.globalAlpha = 1;
	for (const [x, at] of [[timeX(pick.from), left],
			       [timeX(pick.until), right]])
		if (x === at)
			pen.fillRect(x - 1, 0, 2, lanes.height);
}

function paintLanes() {
	const dots = window.devicePixelRatio || 1;
	const scroll = lanesView.scrollTop;

	pen.setTransform(dots, 0, 0, dots, 0, 0);
	pen.clearRect(0, 0, lanes.width, lanes.height);
	pen.font = theme.small;
	pen.textBaseline = "middle";
	paintGrid();
	for (let i = rowIndexAt(scroll); i < rows.list.length; i++) {
		if (rows.list[i].top > scroll + lanes.height)
			break;
		paintRow(rows.list[i], i);
	}
	pen.fillStyle = theme.line;
	pen.fillRect(lanes.gutter - 1, 0, 1, lanes.height);
	paintPicked();
	paintAxis();
	paintPickedOnAxis();
}

/* The scale is painted over what scrolls below it: the mark belongs on top. */
function paintPickedOnAxis() {
	if (isWholeTime())
		return;
	const left = Math.max(timeX(pick.from), lanes.gutter);
	const right = Math.min(timeX(pick.until), lanes.width);
	if (right <= left)
		return;
	pen.fillStyle = theme.accent;
	pen.fillRect(left, AXIS - 3, right - left, 3);
}

function repaintLanes() {
	if (lanes.due)
		return;
	lanes.due = true;
	requestAnimationFrame(() => {
		lanes.due = false;
		paintLanes();
	});
}

/* After rows, the time in view or the size have changed. */
function layoutLanes() {
	lanes.gutter = Math.round(Math.min(300,
		Math.max(lanes.width * 0.24, 110)));
	lanes.cache.clear();
	byId("lanes-height").style.height =
		Math.max(rows.height + AXIS - lanes.height, 0) + "px";
	repaintLanes();
}

function resizeLanes() {
	if (!fitCanvas(lanesCanvas, lanesView, lanes))
		return;
	layoutLanes();
	paintLanes();
}
