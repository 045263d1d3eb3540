/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of blocks that a flame graph is drawn of. A block stands for all
 * nodes of the same path: @nodes whose time it shows and, inverted, @at: which
 * caller of each. Its children are made when a layout first gets to it: an
 * inverted tree of many stacks would be far larger than what can be seen of it.
 *
 * A block's key says what it stands for: a frame (>= 0), or a group (below 0).
 */
const groupKey = (group) => -2 - group;
const OUTSIDE = -1; // time outside of any Python frame, merged
const HOST = -(2 ** 40); // and below: hosts, a level above processes or threads
const isHost = (key) => key <= HOST;

class Tree {
	constructor() {
		const measure = settings.measure;
		this.own = nodes.own[measure];
		this.total = nodes.total[measure];
		this.scale = baseScale(measure);
		this.baseOwn = settings.diff ? nodes.base[measure] : null;
		this.baseTotal = settings.diff ?
			nodes.baseTotal[measure] : null;
		this.groups = profile.groups[settings.frames];
		this.merged = settings.group === "all";
		this.hosts = hostCount > 1 && !settings.inverted &&
			["process", "thread"].includes(settings.group);
		this.root = this.block(null, 0);
		this.root.now = totalOf(measure);
		this.root.base = baseTotalOf(measure) * this.scale;
		this.root.value = this.root.now + this.root.base;
		if (this.merged && !settings.inverted) {
			this.root.nodes = nodes.roots;
			this.root.self = this.selfOf(this.root);
		}
	}

	block(up, key) {
		return {
			up, key,
			depth: up ? up.depth + 1 : 0,
			x: 0, value: 0, self: 0, now: 0, base: 0,
			nodes: [],
			at: settings.inverted ? [] : null,
			kids: null,
		};
	}

	keyOf(node) {
		if (nodes.parent[node] < 0)
			return groupKey(nodes.group[node]);
		return this.groups[stacks.frame[nodes.stack[node]]];
	}

	/* The host of a group's root. */
	hostKey(node) {
		const group = nodes.group[node];
		const process = settings.group === "thread" ?
			threads.process[group] : images.process[group];
		return HOST - firstOfHost(processes.run[process] ?? 0);
	}

	selfOf(block) {
		if (isHost(block.key))
			return 0;
		if (settings.inverted)
			return block.depth === 1 ? block.now : 0;
		return sumOf(block.nodes, this.own);
	}

	baseOf(node) {
		return this.baseOwn ? this.baseOwn[node] * this.scale : 0;
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

	/*
	 * By file, a frame that was called from its own file is no block of
	 * its own: its nodes become those of the block.
	 */
	addCallees(block, kids) {
		const byFile = settings.frames === "file";
		const add = (node) => {
			const base = this.baseTotal ?
				this.baseTotal[node] * this.scale : 0;
			if (!this.total[node] && !base)
				return;
			const key = this.hosts && !block.up ?
				this.hostKey(node) : this.keyOf(node);
			if (byFile && key === block.key && block.up) {
				block.nodes.push(node);
				block.self += this.own[node];
				return;
			}
			const kid = this.kid(block, kids, key);
			kid.nodes.push(node);
			kid.now += this.total[node];
			kid.base += base;
		};

		if (!block.up && !this.merged)
			nodes.roots.forEach(add);
		if (isHost(block.key)) {
			block.nodes.forEach(add);
			return;
		}
		// The list grows while it is gone through.
		for (let i = 0; i < block.nodes.length; i++)
			for (let kid = nodes.first[block.nodes[i]]; kid >= 0;
			     kid = nodes.next[kid])
				add(kid);
	}

	addCallers(block, kids) {
		const byFile = settings.frames === "file";
		const add = (node, at) => {
			while (byFile && at >= 0 && block.up &&
			       this.keyOf(at) === block.key)
				at = nodes.parent[at];
			if (at < 0)
				return;
			let key = this.keyOf(at);
			if (this.merged && key < 0) {
				if (block.up)
					return;
				key = OUTSIDE;
			}
			const kid = this.kid(block, kids, key);
			kid.nodes.push(node);
			kid.at.push(at);
			kid.now += this.own[node];
			kid.base += this.baseOf(node);
		};

		if (block.up)
			block.nodes.forEach((node, i) =>
				add(node, nodes.parent[block.at[i]]));
		else
			for (let i = 0; i < nodes.n; i++)
				if (this.own[i] || this.baseOf(i))
					add(i, i);
	}

	/* The heaviest first, from the left edge of their parent on. */
	place(block, kids) {
		const list = [...kids.values()];
		let x = block.x;

		for (const kid of list)
			kid.value = kid.now + kid.base;
		list.sort((a, b) => b.value - a.value || a.key - b.key);
		for (const kid of list) {
			kid.x = x;
			kid.self += this.selfOf(kid);
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
	if (settings.inverted)
		return sumOf(block.nodes, nodes.own[measure]);
	// By file a block also has nodes that are below others of its own.
	if (settings.frames === "file")
		return sumOf(block.nodes.filter((node) => !isAbsorbed(node)),
			nodes.total[measure]);
	return sumOf(block.nodes, nodes.total[measure]);
}

function isAbsorbed(node) {
	const up = nodes.parent[node];
	const file = (at) => nodes.parent[at] < 0 ? -1 :
		frames.file[stacks.frame[nodes.stack[at]]];
	return up >= 0 && file(node) >= 0 && file(up) === file(node);
}

function nameOf(block) {
	if (!block.up)
		return isAnyPicked() || !isWholeTime() ? "what is selected" :
			settings.group === "all" || settings.inverted ?
			"all processes, merged" : "all processes";
	if (block.key === OUTSIDE)
		return "outside of Python frames";
	if (isHost(block.key))
		return hostOf(HOST - block.key);
	if (block.key < 0)
		return groupName(-2 - block.key);
	if (settings.frames === "file")
		return baseName(fileOf(block.key)) || "(no file)";
	return functionOf(block.key) || "(no name)";
}

/* Where a block's nodes stand: themselves, or inverted the callers. */
const places = (block) => block.at || block.nodes;

/* The line of a block; 0: it has several or none. Kept: it is asked often. */
function onlyLine(block) {
	if (block.line !== undefined)
		return block.line;
	let line = -1;
	for (const node of places(block)) {
		const its = lineOf(stacks.frame[nodes.stack[node]]);
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
	if (settings.frames === "file")
		return whole ? file : "";
	const line = onlyLine(block);
	return (whole ? file : baseName(file)) + (line ? ":" + line : "");
}

function matches(block) {
	if (!search.test || !block.up || block.key === OUTSIDE)
		return false;
	if (block.found === undefined || block.foundFor !== search.test) {
		block.foundFor = search.test;
		block.found = block.key < 0 ?
			search.test(nameOf(block)) :
			places(block).some((node) => search.frames[
				stacks.frame[nodes.stack[node]]]);
	}
	return block.found;
}
