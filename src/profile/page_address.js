/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The address: what is shown can be bookmarked, sent to others, and gone back
 * to.
 */
function stateParts() {
	const parts = new URLSearchParams();
	const path = pathOf(graph.zoomed);

	parts.set("measure", settings.measure);
	for (const name of ["group", "frames", "tab"])
		parts.set(name, settings[name]);
	for (const name of SWITCHES)
		if (settings[name])
			parts.set(name, "1");
	if (settings.query)
		parts.set("search", settings.query);
	if (path.length)
		parts.set("zoom", path.join("."));
	if (!isWholeTime())
		parts.set("time", Math.round(pick.from) + "-" +
			Math.round(pick.until));
	if (pick.processes.size)
		parts.set("processes", packNumbers(pick.processes));
	if (pick.threads.size)
		parts.set("threads", packNumbers(pick.threads));
	if (table.chosen >= 0)
		parts.set("function", table.chosen);
	return parts;
}

/* "1-5.8": ranges, as folds of thousands are picked at once. */
function packNumbers(set) {
	const list = [...set].sort((a, b) => a - b);
	const parts = [];
	for (let i = 0; i < list.length;) {
		let j = i;
		while (j + 1 < list.length && list[j + 1] === list[j] + 1)
			j++;
		parts.push(i === j ? list[i] : list[i] + "-" + list[j]);
		i = j + 1;
	}
	return parts.join(".");
}

function unpackNumbers(text, count) {
	const set = new Set();
	for (const part of (text || "").split(".")) {
		const range = /^(\d+)(?:-(\d+))?$/.exec(part);
		if (!range)
			continue;
		const last = Math.min(Number(range[2] || range[1]), count - 1);
		for (let i = Number(range[1]); i <= last; i++)
			set.add(i);
	}
	return set;
}

function saveState(step) {
	const hash = "#" + stateParts();
	if (hash === location.hash)
		return;
	try {
		if (step)
			history.pushState(null, "", hash);
		else
			history.replaceState(null, "", hash);
	} catch {
		// Some browsers forbid it for files, or when it is done often.
	}
}

function oneOf(value, list, otherwise) {
	return list.includes(value) ? value : otherwise;
}

function loadPick(parts) {
	const time = /^(\d+)-(\d+)$/.exec(parts.get("time") || "");

	pick.from = profile.from;
	pick.until = profile.until;
	if (time && Number(time[1]) < Number(time[2])) {
		pick.from = clampTime(Number(time[1]));
		pick.until = clampTime(Number(time[2]));
	}
	pick.processes = unpackNumbers(parts.get("processes"),
		profile.processCount);
	pick.threads = unpackNumbers(parts.get("threads"),
		profile.threadCount);
	pickChanged();
}

/* Returns the path of what is zoomed. */
function loadState() {
	const parts = new URLSearchParams(location.hash.slice(1));
	const usual = usualSettings();

	settings.measure = oneOf(parts.get("measure"), MEASURE_NAMES,
		usual.measure);
	settings.group = oneOf(parts.get("group"),
		["process", "thread", "role", "host", "all"], usual.group);
	settings.frames = oneOf(parts.get("frames"),
		["function", "line", "file"], usual.frames);
	settings.tab = oneOf(parts.get("tab"), TABS, "flame");
	for (const name of SWITCHES)
		settings[name] = parts.get(name) === "1";
	if (location.hash.length < 2)
		settings.diff = usual.diff;
	settings.diff &&= !!profile.base;
	fitGroup();
	const query = (parts.get("search") || "").trim().slice(0, 200);
	byId("search").value = query;
	setSearch(query);
	const chosen = Number(parts.get("function") ?? -1);
	table.chosen = Number.isInteger(chosen) && chosen < frames.n ?
		chosen : -1;
	loadPick(parts);
	return (parts.get("zoom") || "").split(".").filter(Boolean).map(Number);
}

/* How the page is first shown: as it was asked for, where that was recorded. */
function usualSettings() {
	const asked = oneOf(profile.value, MEASURE_NAMES, "wall");
	return { measure: recordedTotal(asked) ? asked : "wall",
		group: profile.group === "process" &&
			livelyCount > PROCESSES_MOST ? "role" :
			oneOf(profile.group, ["process", "thread", "role",
				"all"], "process"),
		frames: profile.frames_as === "file" ? "file" : "function",
		diff: !!profile.base };
}
