/* SPDX-License-Identifier: Apache-2.0 */
/* Colours. The style sheet decides; light and dark are its business. */

let theme = null;
const colours = new Map();

function readTheme() {
	const style = getComputedStyle(document.documentElement);
	const get = (name) => style.getPropertyValue("--" + name).trim();

	theme = {
		text: get("text"), soft: get("soft"), focus: get("focus"),
		line: get("line"), card: get("card"), back: get("back"),
		sunk: get("sunk"), accent: get("accent"),
		accentBack: get("accent-back"),
		blockText: get("block-text"),
		found: get("found"), foundText: get("found-text"),
		process: get("process"), total: get("total"),
		onCpu: get("on-cpu"), ready: get("ready"),
		gilWait: get("gil-wait"),
		waiting: get("waiting"), stopped: get("stopped"),
		bad: get("bad"), mark: get("mark"), shade: get("shade"),
		lightness: Number(get("block-lightness")),
		chroma: Number(get("block-chroma")),
		wide: CSS.supports("color", "oklch(0.5 0.1 20)"),
		font: "12px " + get("sans"),
		small: "11px " + get("sans"),
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

/* Browsers of before 2023 get about the same in the colours that they know. */
const oklch = (lightness, chroma, hue) => theme.wide ?
	`oklch(${lightness.toFixed(3)} ${chroma.toFixed(3)} ${hue})` :
	`hsl(${hue} ${Math.round(450 * chroma)}% ${
		Math.round(lightness * 100 - 6)}%)`;

function frameColour(frame) {
	let colour = colours.get(frame);
	if (colour)
		return colour;
	const family = familyOf(fileOf(frame));
	const hue = family === null ? 75 : hash(family) % 360;
	const shift = (hash(functionOf(frame)) % 9 - 4) * 0.006;
	colour = oklch(theme.lightness + shift,
		family === null ? 0.012 : theme.chroma, hue);
	colours.set(frame, colour);
	return colour;
}

/* From blue (-1: only in the base) by grey to red (1: only in this run). */
function changeColour(change) {
	const strength = Math.sqrt(Math.min(Math.abs(change), 1));
	return oklch(theme.lightness - 0.12 * strength, 0.16 * strength,
		change > 0 ? 25 : 255);
}

/* "auto", "light" or "dark"; kept where the browser lets us. */
function setTheme(name) {
	if (name === "auto")
		delete document.documentElement.dataset.theme;
	else
		document.documentElement.dataset.theme = name;
	try {
		localStorage.setItem("forkflame-theme", name);
	} catch {
		// Then it is asked for again the next time.
	}
	readTheme();
}

function savedTheme() {
	try {
		const name = localStorage.getItem("forkflame-theme");
		return ["light", "dark"].includes(name) ? name : "auto";
	} catch {
		return "auto";
	}
}
