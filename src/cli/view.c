/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/view.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/colour.h"
#include "cli/messages.h"
#include "cli/output.h"
#include "cli/source.h"

static bool wants_color(const struct options *options, const struct output *out)
{
	const char *forced = getenv("CLICOLOR_FORCE");

	if (options->color != COLOR_AUTO)
		return options->color == COLOR_ALWAYS;
	return (forced && *forced && strcmp(forced, "0")) ||
	       colour_wanted(out->fd);
}

int view_write(struct forkflame_report *report, const struct options *options,
	       const char *path, int64_t only)
{
	struct forkflame_view view = options->view;
	struct output out;
	int r = output_open(&out, path);

	view.only = only;
	if (options->source)
		view.source = source_read;
	view.color = r == 0 && wants_color(options, &out);
	if (r == 0)
		r = forkflame_report_write(report, &view, output_write, &out);
	if (r == 0)
		r = output_commit(&out);
	else
		output_abandon(&out);
	if (r < 0 && *forkflame_report_strerror(report))
		message_say("%s", forkflame_report_strerror(report));
	else if (r < 0)
		message_say("cannot write %s: %s",
			    strcmp(path, "-") ? path : "standard output",
			    strerror(-r));
	return r;
}

int view_write_all(struct forkflame_report *report,
		   const struct options *options, const char *pattern)
{
	struct forkflame_process process = { .size = sizeof(process) };
	char *name;
	int r = 0;

	if (!options->split) {
		name = strcmp(pattern, "-") ? output_name(pattern, 0, 0, 0)
					    : strdup("-");
		r = name ? view_write(report, options, name, -1) : -ENOMEM;
		free(name);
		return r;
	}
	for (uint32_t i = 0;
	     r == 0 && forkflame_report_process(report, i, &process); i++) {
		if (!process.has_samples)
			continue;
		name = output_name(pattern, 1, process.pid, process.again);
		r = name ? view_write(report, options, name, i) : -ENOMEM;
		free(name);
	}
	return r;
}

/* What is to be said of a recording; NULL: nothing, it is whole. */
static const char *ending_words(enum forkflame_ending ending)
{
	switch (ending) {
	case FORKFLAME_RUNNING:
		return "was not ended in order, or is still written";
	case FORKFLAME_CUT:
		return "has lost its end";
	case FORKFLAME_DAMAGED:
		return "is damaged";
	case FORKFLAME_WHOLE:
		break;
	}
	return NULL;
}

void view_say_endings(struct forkflame_report *report)
{
	struct forkflame_source source = { .size = sizeof(source) };

	for (uint32_t i = 0; forkflame_report_source(report, i, &source); i++) {
		const char *words = ending_words(source.ending);

		if (words)
			message_say("recording %u %s: %llu of its %llu bytes "
				    "can be read, %.1f s",
				    i + 1, words,
				    (unsigned long long)source.good_bytes,
				    (unsigned long long)source.bytes,
				    (double)source.duration_ns / 1e9);
	}
}
