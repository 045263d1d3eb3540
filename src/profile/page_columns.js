/* SPDX-License-Identifier: Apache-2.0 */
/* What was done in a lane, by column of pixels. */

/*
 * Add a constant @density from @x0 to @x1 (pixels): what is between whole
 * columns as a step up and a step down, so that a long one costs no more than a
 * short one.
 */
function addDensity(steps, edges, x0, x1, density) {
	const n = edges.length;
	x0 = Math.max(x0, 0);
	x1 = Math.min(x1, n);
	if (x1 <= x0)
		return;
	const first = Math.floor(x0);
	const last = Math.min(Math.floor(x1), n - 1);
	if (first === last) {
		edges[first] += density * (x1 - x0);
		return;
	}
	edges[first] += density * (first + 1 - x0);
	edges[last] += density * (x1 - last);
	steps[first + 1] += density;
	steps[last] -= density;
}

function settle(steps, edges) {
	let level = 0;
	for (let i = 0; i < edges.length; i++) {
		level += steps[i];
		edges[i] += level;
	}
	return edges;
}

function addThread(thread, to, scale) {
	const end = spans.first[thread + 1];
	for (let i = spans.first[thread]; i < end; i++) {
		if (spans.end[i] <= lanes.from || spans.start[i] >= lanes.until)
			continue;
		const length = spans.end[i] - spans.start[i];
		const x0 = (spans.start[i] - lanes.from) * scale;
		const x1 = (spans.end[i] - lanes.from) * scale;
		const state = spans.state[i];
		const ran = profile.has_cpu ? spans.cpu[i] :
			state === ON_CPU ? spans.wall[i] : 0;
		if (ran)
			addDensity(to.cpuSteps, to.cpu, x0, x1,
				Math.min(ran / length, 1));
		if (state === ON_CPU && spans.wall[i] > ran)
			addDensity(to.readySteps, to.ready, x0, x1,
				Math.min((spans.wall[i] - ran) / length, 1));
		if (state === GIL_WAIT)
			addDensity(to.gilSteps, to.gil, x0, x1,
				Math.min(spans.wall[i] / length, 1));
		else if (state === STOPPED)
			addDensity(to.stopSteps, to.stop, x0, x1, 1);
	}
}

/*
 * How many were alive, and how many were busy, at most. Two of a thousand that
 * run would not be seen at the scale of those that live: they get their own.
 */
function findPeaks(to) {
	to.most = 1;
	to.peak = 0;
	for (let i = 0; i < to.cpu.length; i++) {
		to.most = Math.max(to.most, to.alive[i]);
		to.peak = Math.max(to.peak, to.upToReady[i] + to.gil[i]);
	}
	to.busy = to.peak > to.most / 3 ? to.most : Math.max(to.peak, 1);
}

/* On a CPU, ready for one, waiting for the lock, stopped and alive, by column. */
function columnsOf(row) {
	let to = lanes.cache.get(row.id);
	if (to)
		return to;
	const n = Math.max(Math.round(lanes.width - lanes.gutter), 1);
	const scale = n / (lanes.until - lanes.from);
	const make = () => new Float32Array(n + 1);
	to = { cpu: new Float32Array(n), cpuSteps: make(),
		ready: new Float32Array(n), readySteps: make(),
		gil: new Float32Array(n), gilSteps: make(),
		stop: new Float32Array(n), stopSteps: make(),
		alive: new Float32Array(n), aliveSteps: make(), most: 0 };
	for (const thread of threadsIn(row))
		addThread(thread, to, scale);
	if (row.kind === "fold")
		for (const process of row.members)
			addDensity(to.aliveSteps, to.alive,
				(processes.born[process] - lanes.from) * scale,
				(processes.left[process] - lanes.from) * scale,
				1);
	settle(to.cpuSteps, to.cpu);
	settle(to.readySteps, to.ready);
	settle(to.gilSteps, to.gil);
	settle(to.stopSteps, to.stop);
	settle(to.aliveSteps, to.alive);
	to.upToReady = to.cpu.map((cpu, i) => cpu + to.ready[i]);
	if (row.kind === "fold")
		findPeaks(to);
	lanes.cache.set(row.id, to);
	return to;
}
