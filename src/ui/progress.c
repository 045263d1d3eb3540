/* SPDX-License-Identifier: Apache-2.0 */
#include "ui/progress.h"

#include <inttypes.h>

void progress_format(const struct progress_line *line,
		     const struct forkflame_progress *progress, char *text,
		     size_t len)
{
	double seconds = (double)progress->elapsed_ns / 1e9;
	double since = (double)(progress->elapsed_ns - line->elapsed_ns) / 1e9;
	double rate = 0;

	if (since > 0 && progress->samples > line->samples)
		rate = (double)(progress->samples - line->samples) / since;
	(void)snprintf(text, len,
		       "%.1f s  %" PRIu64 " processes alive, %" PRIu64
		       " seen, %" PRIu64 " sampled  %.0f samples/s, %" PRIu64
		       " dropped, %" PRIu64 " ticks missed",
		       seconds, progress->processes_alive,
		       progress->processes_seen, progress->processes_sampled,
		       rate, progress->dropped, progress->ticks_missed);
}

void progress_show(struct progress_line *line,
		   const struct forkflame_progress *progress)
{
	char text[256];

	progress_format(line, progress, text, sizeof(text));
	(void)fprintf(line->to, "\r%s\033[K", text);
	(void)fflush(line->to);
	line->elapsed_ns = progress->elapsed_ns;
	line->samples = progress->samples;
	line->shown = 1;
}

void progress_erase(struct progress_line *line)
{
	if (!line->shown)
		return;
	(void)fputs("\r\033[K", line->to);
	(void)fflush(line->to);
	line->shown = 0;
}
