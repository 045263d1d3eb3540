/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words. Names come from strangers: they get to the page as text nodes or as
 * pixels, never as markup.
 */

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

function timeText(us) {
	if (us < 0)
		return "−" + timeText(-us);
	if (!us)
		return "0 s";
	if (us >= 3600e6)
		return Math.floor(us / 3600e6) + " h " +
			Math.floor(us % 3600e6 / 60e6) + " min";
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

const countText = (n) => Math.round(n).toLocaleString("en");
const plural = (n, one, many) => countText(n) + " " + (n === 1 ? one : many);

/* A weight in its measure. */
const valueText = (value, measure) =>
	measure === "samples" ? countText(value) : timeText(value);

const baseName = (path) => path.slice(path.lastIndexOf("/") + 1);

/* Signals by number, as Linux has them nearly everywhere. */
const SIGNALS = { 1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL",
	6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 10: "SIGUSR1",
	11: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE", 14: "SIGALRM",
	15: "SIGTERM", 24: "SIGXCPU", 25: "SIGXFSZ" };

/* What waitpid(2) said of an end. */
function statusText(status) {
	const signal = status & 0x7f;
	if (signal)
		return SIGNALS[signal] || "signal " + signal;
	return "exit " + (status >> 8 & 0xff);
}

const byId = (id) => document.getElementById(id);

function element(name, className, text) {
	const made = document.createElement(name);
	if (className)
		made.className = className;
	if (text !== undefined)
		made.textContent = text;
	return made;
}
