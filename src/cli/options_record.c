/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options_parse.h"
#include "cli/words.h"

#define HZ_MAX 20000
#define SAMPLERS_MAX 8192

static const struct option long_options[] = {
	OPTIONS_OF_SELECTION,
	{ "duration", required_argument, NULL, 'd' },
	{ "rate", required_argument, NULL, 'r' },
	{ "events", required_argument, NULL, OPT_EVENTS },
	{ "event-buffer", required_argument, NULL, OPT_EVENT_BUFFER },
	{ "oncpu", required_argument, NULL, OPT_ONCPU },
	{ "sampler", required_argument, NULL, OPT_SAMPLER },
	{ "samplers", required_argument, NULL, OPT_SAMPLERS },
	{ "stats", required_argument, NULL, OPT_STATS },
	{ "rotate", required_argument, NULL, OPT_ROTATE },
	{ "nonblocking", no_argument, NULL, OPT_NONBLOCKING },
	{ "max-overhead", required_argument, NULL, OPT_OVERHEAD },
	OPTIONS_OF_VIEWS,
	{ NULL, 0, NULL, 0 },
};

static const struct word sources[] = {
	{ "auto", FORKFLAME_EVENTS_AUTO },
	{ "connector", FORKFLAME_EVENTS_CONNECTOR },
	{ "perf", FORKFLAME_EVENTS_PERF },
	{ "children", FORKFLAME_EVENTS_CHILDREN },
	{ "scan", FORKFLAME_EVENTS_SCAN },
	{ NULL, 0 },
};

static const struct word runners[] = {
	{ "auto", FORKFLAME_ONCPU_AUTO },
	{ "switches", FORKFLAME_ONCPU_SWITCHES },
	{ "runcounts", FORKFLAME_ONCPU_RUNCOUNTS },
	{ NULL, 0 },
};

static const struct word samplers[] = {
	{ "auto", FORKFLAME_SAMPLER_AUTO },
	{ "stop", FORKFLAME_SAMPLER_STOP },
	{ "kernel", FORKFLAME_SAMPLER_KERNEL },
	{ NULL, 0 },
};

/* An age ("60s", "5m") or a size ("100M"; a bare number is one of seconds). */
static const char *take_rotate(struct options *ret, const char *value)
{
	uint64_t ns;

	if (words_seconds(value, &ns) && ns) {
		ret->run.rotate_ns = ns;
		return NULL;
	}
	return words_bytes(value, &ret->run.rotate_bytes)
		       ? NULL
		       : "is neither a time (60s) nor a size (100M)";
}

/* 0 is what "auto" stands for. */
static const char *take_samplers(struct options *ret, const char *value)
{
	double number;

	ret->run.samplers = 0;
	if (!strcmp(value, "auto"))
		return NULL;
	if (!words_number(value, false, &number) || number < 1 ||
	    number > SAMPLERS_MAX || number != (unsigned)number)
		return "is neither auto nor a number of threads";
	ret->run.samplers = (unsigned)number;
	return NULL;
}

const char *options_take_duration(struct options *ret, const char *value)
{
	return words_seconds(value, &ret->run.duration_ns) &&
			       ret->run.duration_ns
		       ? NULL
		       : "is no duration in seconds";
}

const char *options_take_events(struct options *ret, const char *value)
{
	int word = words_value(sources, value);

	ret->run.events = word;
	return word >= 0 ? NULL
			 : "is no source: auto, connector, perf, "
			   "children or scan";
}

static const char *take_option(struct parsing *parsing, int opt,
			       const char *value)
{
	struct options *ret = parsing->options;
	double number;
	int word;

	if (options_is_selection(opt))
		return options_take_selection(ret, opt, value);
	switch (opt) {
	case 'd':
		return options_take_duration(ret, value);
	case 'r':
		if (!words_number(value, true, &number) || number < 0.1 ||
		    number > HZ_MAX)
			return "is no rate from 0.1 to 20000 Hz";
		ret->run.interval_ns = (uint64_t)(1e9 / number);
		return NULL;
	case OPT_STATS:
		ret->stats = value;
		return NULL;
	case OPT_ROTATE:
		return take_rotate(ret, value);
	case OPT_NONBLOCKING:
		ret->run.nonblocking = true;
		return NULL;
	case OPT_OVERHEAD:
		if (!words_number(value, false, &number) || number < 0.1 ||
		    number > 100)
			return "is no percentage from 0.1 to 100";
		ret->run.budget_ns = (uint64_t)(1e7 * number);
		return NULL;
	case OPT_EVENTS:
		return options_take_events(ret, value);
	case OPT_EVENT_BUFFER:
		return words_bytes(value, &ret->run.event_buffer) &&
				       ret->run.event_buffer
			       ? NULL
			       : "is no size (16M)";
	case OPT_ONCPU:
		word = words_value(runners, value);
		ret->run.oncpu = word;
		return word >= 0 ? NULL
				 : "is no source: auto, switches or runcounts";
	case OPT_SAMPLER:
		word = words_value(samplers, value);
		ret->run.sampler = word;
		return word >= 0 ? NULL : "is no sampler: auto, stop or kernel";
	case OPT_SAMPLERS:
		return take_samplers(ret, value);
	default:
		return options_take_view(parsing, opt, value);
	}
}

/* What does not go together. NULL: nothing is wrong. */
static const char *contradiction(struct options *ret)
{
	bool out = ret->output && !strcmp(ret->output, "-");
	bool rotate = ret->run.rotate_ns || ret->run.rotate_bytes;
	const char *wrong = options_settle_selection(ret);

	if (wrong)
		return wrong;
	if (!ret->command && !ret->n_pids && !ret->all)
		return "what is to be profiled? Give a command, -p PID or -a";
	if (ret->split && out)
		return "a file a process cannot go to standard output";
	if (ret->split && ret->recording)
		return "a recording is one file of all processes; "
		       "'forkflame report -ff' makes a view a process of it";
	if (rotate && (!ret->recording || out))
		return "only a recording (-o NAME.ff) can be rotated";
	return NULL;
}

enum options_result options_record(int argc, char *argv[], struct options *ret,
				   char *message, size_t len)
{
	static const struct option_table table = {
		.told = "option",
		.brief = "+:" SHORT_OF_SELECTION "d:r:" SHORT_OF_VIEWS,
		.names = long_options,
		.take = take_option,
	};
	struct parsing parsing = { .options = ret };
	enum options_result result;
	const char *wrong;

	if (!options_take(&table, &parsing, argc, argv, message, len, &result))
		return result;
	options_settle_view(&parsing, ret->output && !strcmp(ret->output, "-")
					      ? FORKFLAME_COLLAPSED
					      : FORKFLAME_FLAMEGRAPH);
	if (optind < argc)
		ret->command = argv + optind;
	wrong = contradiction(ret);
	if (!wrong)
		return OPTIONS_RECORD;
	(void)snprintf(message, len, "%s", wrong);
	return OPTIONS_BAD;
}
