/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/dump.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/messages.h"
#include "cli/output.h"
#include "cli/record.h"
#include "cli/targets.h"

static void on_notice(void *ctx, const char *line)
{
	(void)ctx;
	message_say("%s", line);
}

/* Write it. Returns the exit status. */
static int dump_to(struct forkflame *ff, const struct options *options)
{
	const char *path = options->output ? options->output : "-";
	struct output out;
	int r = output_open(&out, path);

	if (r == 0)
		r = forkflame_dump(
			ff, options->json ? FORKFLAME_JSON : FORKFLAME_TEXT,
			output_write, &out);
	if (r == 0)
		r = output_commit(&out);
	else
		output_abandon(&out);
	if (r == 0)
		return EXIT_SAMPLED;
	if (*forkflame_strerror(ff))
		message_say("%s", forkflame_strerror(ff));
	else
		message_say("cannot write %s: %s", path, strerror(-r));
	return EXIT_OUTPUT;
}

int dump_run(const struct options *options)
{
	struct forkflame_options run = options->run;
	struct forkflame *ff = NULL;
	int status = EXIT_NOTHING;
	int r;

	run.notice = options->quiet ? NULL : on_notice;
	r = forkflame_new(&ff, &run);
	if (r < 0) {
		message_say("%s", ff ? forkflame_strerror(ff) : strerror(-r));
		if (r == -EACCES || r == -EPERM)
			status = EXIT_DENIED;
	} else if (targets_take_in(ff, options, &status) == 0) {
		status = dump_to(ff, options);
	}
	forkflame_free(ff);
	return status;
}
