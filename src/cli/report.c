/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cli/messages.h"
#include "cli/record.h"
#include "cli/store.h"
#include "cli/view.h"

/* Recordings, mapped for as long as the report lives. */
struct maps {
	struct mapped *at;
	size_t n;
};

static int add(struct forkflame_report *report, struct maps *maps,
	       const char *path, bool base)
{
	struct mapped *mapped = &maps->at[maps->n];
	int r = mapped_open(mapped, path);

	if (r < 0) {
		message_say("cannot read %s: %s", path, strerror(-r));
		return r;
	}
	maps->n++;
	r = forkflame_report_add(report, mapped->bytes, mapped->len, base);
	if (r < 0)
		message_say("%s: %s", path, forkflame_report_strerror(report));
	return r;
}

static int add_all(struct forkflame_report *report, struct maps *maps,
		   const struct options *options)
{
	size_t n = 0;
	int r = 0;

	while (options->files[n])
		n++;
	maps->at = calloc(n + 1, sizeof(*maps->at));
	if (!maps->at)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < n; i++)
		r = add(report, maps, options->files[i], false);
	if (r == 0 && options->diff)
		r = add(report, maps, options->diff, true);
	return r;
}

int report_run(const struct options *options)
{
	const char *pattern = options->output ? options->output : "-";
	struct forkflame_report *report = NULL;
	struct maps maps = { 0 };
	int status = EXIT_NOTHING;
	int r = forkflame_report_new(&report);

	/* A reader that goes away is an error of ours, not our end. */
	(void)signal(SIGPIPE, SIG_IGN);
	if (r == 0)
		r = add_all(report, &maps, options);
	if (r == 0) {
		if (!options->quiet)
			view_say_endings(report);
		r = view_write_all(report, options, pattern);
		status = r == 0 ? EXIT_SAMPLED : EXIT_OUTPUT;
	}
	forkflame_report_free(report);
	while (maps.n)
		mapped_close(&maps.at[--maps.n]);
	free(maps.at);
	return status;
}
