/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/words.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS_MAX (100.0 * 365 * 86400)
#define BYTES_MAX 1e18

/* Stands for the recording itself among the formats. */
#define RECORDING 1000

/* The front of @text as a number; *@ret_end is what follows. */
static bool front_number(const char *text, double *ret, char **ret_end)
{
	errno = 0;
	*ret = strtod(text, ret_end);
	return *ret_end != text && !errno && isfinite(*ret);
}

bool words_number(const char *text, bool kilo, double *ret)
{
	char *end;

	if (!front_number(text, ret, &end))
		return false;
	if (kilo && (*end == 'k' || *end == 'K')) {
		*ret *= 1000;
		end++;
	}
	return !*end;
}

bool words_bytes(const char *text, uint64_t *ret)
{
	static const char units[] = "kmgt";
	const char *unit;
	double value;
	char *end;

	if (!front_number(text, &value, &end))
		return false;
	unit = *end ? strchr(units, tolower((unsigned char)*end)) : NULL;
	if (unit) {
		for (long i = 0; i <= unit - units; i++)
			value *= 1024;
		end++;
	}
	if (*end || value < 1 || value > BYTES_MAX)
		return false;
	*ret = (uint64_t)value;
	return true;
}

bool words_seconds(const char *text, uint64_t *ret_ns)
{
	double value;
	char *end;

	if (!front_number(text, &value, &end))
		return false;
	if (*end == 'm')
		value *= 60;
	else if (*end == 'h')
		value *= 3600;
	if (*end == 's' || *end == 'm' || *end == 'h')
		end++;
	if (*end || value < 0 || value > SECONDS_MAX)
		return false;
	*ret_ns = (uint64_t)(value * 1e9);
	return true;
}

bool words_pids(const char *text, int32_t *pids, size_t *n)
{
	char *end;

	for (;; text = end + 1) {
		long pid = strtol(text, &end, 10);

		if (!isdigit((unsigned char)*text) || pid <= 0 ||
		    pid > INT32_MAX || (*end && *end != ','))
			return false;
		if (*n == OPTIONS_PIDS)
			return false;
		pids[(*n)++] = (int32_t)pid;
		if (!*end)
			return true;
	}
}

int words_value(const struct word *words, const char *text)
{
	for (; words->text; words++)
		if (!strcmp(words->text, text))
			return words->value;
	return -1;
}

static const struct word formats[] = {
	{ "html", FORKFLAME_FLAMEGRAPH },
	{ "flamegraph", FORKFLAME_FLAMEGRAPH },
	{ "collapsed", FORKFLAME_COLLAPSED },
	{ "folded", FORKFLAME_COLLAPSED },
	{ "svg", FORKFLAME_SVG },
	{ "speedscope", FORKFLAME_SPEEDSCOPE },
	{ "pprof", FORKFLAME_PPROF },
	{ "chrome", FORKFLAME_CHROME },
	{ "firefox", FORKFLAME_FIREFOX },
	{ "callgrind", FORKFLAME_CALLGRIND },
	{ "pstats", FORKFLAME_PSTATS },
	{ "jsonl", FORKFLAME_JSONL },
	{ "flamechart", FORKFLAME_FLAMECHART },
	{ "table", FORKFLAME_TABLE },
	{ "ff", RECORDING },
	{ "recording", RECORDING },
	{ NULL, 0 },
};

/* Of several that fit, the first: the longer ones before their ends. */
static const struct word endings[] = {
	{ ".html", FORKFLAME_FLAMEGRAPH },
	{ ".htm", FORKFLAME_FLAMEGRAPH },
	{ ".folded", FORKFLAME_COLLAPSED },
	{ ".collapsed", FORKFLAME_COLLAPSED },
	{ ".svg", FORKFLAME_SVG },
	{ ".speedscope.json", FORKFLAME_SPEEDSCOPE },
	{ ".speedscope", FORKFLAME_SPEEDSCOPE },
	{ ".pb.gz", FORKFLAME_PPROF },
	{ ".pprof", FORKFLAME_PPROF },
	{ ".firefox.json", FORKFLAME_FIREFOX },
	{ ".trace.json", FORKFLAME_CHROME },
	{ ".chrome.json", FORKFLAME_CHROME },
	{ ".json", FORKFLAME_SPEEDSCOPE },
	{ ".callgrind", FORKFLAME_CALLGRIND },
	{ ".pstats", FORKFLAME_PSTATS },
	{ ".prof", FORKFLAME_PSTATS },
	{ ".jsonl", FORKFLAME_JSONL },
	{ ".flamechart", FORKFLAME_FLAMECHART },
	{ ".txt", FORKFLAME_TABLE },
	{ ".ff", RECORDING },
	{ NULL, 0 },
};

static int format_or_recording(int value, bool *ret_recording)
{
	*ret_recording = value == RECORDING;
	return value == RECORDING ? FORKFLAME_TABLE : value;
}

int words_format(const char *text, bool *ret_recording)
{
	return format_or_recording(words_value(formats, text), ret_recording);
}

int words_format_of(const char *name, bool *ret_recording)
{
	size_t len = strlen(name);

	for (const struct word *end = endings; end->text; end++) {
		size_t n = strlen(end->text);

		/* callgrind's own files are callgrind.out.PID */
		if (len > n && !strcmp(name + len - n, end->text))
			return format_or_recording(end->value, ret_recording);
	}
	*ret_recording = false;
	return strstr(name, "callgrind.out") ? FORKFLAME_CALLGRIND : -1;
}

const char *words_ending(enum forkflame_format format)
{
	for (const struct word *end = endings; end->text; end++)
		if (end->value == (int)format)
			return end->text + 1;
	return "html";
}
