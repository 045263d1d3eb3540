/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/table.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/nsec.h"
#include "base/strtab.h"
#include "profile/summary.h"

#define RUNS 8 /* recordings that are described */

/* A date of the civil calendar, UTC; seconds since 1970 come in. */
static void add_date(struct str *to, uint64_t seconds)
{
	uint64_t days = seconds / 86400, left = seconds % 86400;
	/* Years begin in March here: so a leap day is a year's last. */
	uint64_t era_days = days + 719468;
	uint64_t era = era_days / 146097, day = era_days % 146097;
	uint64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
	uint64_t month, in_year;

	in_year = day - (365 * year + year / 4 - year / 100);
	month = (5 * in_year + 2) / 153;
	day = in_year - (153 * month + 2) / 5 + 1;
	month = month < 10 ? month + 3 : month - 9;
	year += era * 400 + (month <= 2);
	str_printf(to,
		   "%04" PRIu64 "-%02" PRIu64 "-%02" PRIu64 " %02" PRIu64
		   ":%02" PRIu64 ":%02" PRIu64 " UTC",
		   year, month, day, left / 3600, left / 60 % 60, left % 60);
}

static void warn(struct table *t)
{
	table_look(t, LOOK_YELLOW);
	str_puts(&t->to, "! ");
}

static void end_line(struct table *t)
{
	table_look(t, LOOK_PLAIN);
	str_puts(&t->to, "\n");
}

/* How the file ended, unless in order. */
static void run_end(struct table *t, const struct past_run *run)
{
	if (run->end == RECORDING_WHOLE)
		return;
	warn(t);
	if (run->end == RECORDING_RUNNING)
		str_puts(&t->to, "the recording has no end: forkflame was "
				 "killed, or still runs; all of the file was "
				 "read");
	else if (run->end == RECORDING_CUT)
		str_printf(&t->to,
			   "the file is cut off: %zu of %zu bytes could be "
			   "read, up to %.2f s",
			   run->good, run->size,
			   (double)(run->end_ns - run->shift_ns) /
				   (double)NSEC_PER_SEC);
	else
		str_printf(&t->to,
			   "the file is damaged: %zu of %zu bytes could be "
			   "read, up to %.2f s",
			   run->good, run->size,
			   (double)(run->end_ns - run->shift_ns) /
				   (double)NSEC_PER_SEC);
	end_line(t);
}

/* A recording may be in several files, by --rotate. */
static bool same_run(const struct past_run *a, const struct past_run *b)
{
	return a->run.unix_ns && a->run.unix_ns == b->run.unix_ns &&
	       a->run.host == b->run.host;
}

static bool is_first_file(const struct history *h, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (same_run(&h->runs.at[i], &h->runs.at[at]))
			return false;
	return true;
}

/* Does @run go on in another file? Then it needs no end. */
static bool goes_on(const struct history *h, const struct past_run *run)
{
	for (size_t i = 0; i < h->runs.n; i++)
		if (same_run(&h->runs.at[i], run) &&
		    h->runs.at[i].run.start_ns > run->run.start_ns)
			return true;
	return false;
}

/* All files of the run that @run is the first file of. */
static void run_facts(struct table *t, const struct past_run *run)
{
	const struct record_run *facts = &run->run;
	uint64_t from_ns = facts->start_ns, until_ns = run->end_ns;
	size_t files = 0;

	for (size_t i = 0; i < t->h->runs.n; i++) {
		const struct past_run *other = &t->h->runs.at[i];

		if (other != run && !same_run(other, run))
			continue;
		files++;
		if (other->run.start_ns < from_ns)
			from_ns = other->run.start_ns;
		if (other->end_ns > until_ns)
			until_ns = other->end_ns;
	}
	str_printf(&t->to, ", %.2f s",
		   (double)nsec_since(until_ns, run->shift_ns + from_ns) /
			   (double)NSEC_PER_SEC);
	if (facts->interval_ns)
		str_printf(&t->to, " at %.6g Hz",
			   (double)NSEC_PER_SEC / (double)facts->interval_ns);
	if (facts->cpus)
		str_printf(&t->to, ", %" PRIu32 " CPU%s", facts->cpus,
			   facts->cpus == 1 ? "" : "s");
	if (files > 1)
		str_printf(&t->to, ", %zu files", files);
	str_puts(&t->to, "\n");
}

static void run_lines(struct table *t, const struct past_run *run)
{
	const struct record_run *facts = &run->run;

	table_look(t, LOOK_BOLD);
	table_string(t, facts->title, TABLE_WIDTH, FIT_END | FIT_RAGGED);
	end_line(t);
	table_string(t, facts->host, 40, FIT_END | FIT_RAGGED);
	str_puts(&t->to, facts->host ? ", " : "");
	add_date(&t->to, facts->unix_ns / NSEC_PER_SEC);
	run_facts(t, run);
}

/* How many processes, what became of them, and what they used. */
static void totals_line(struct table *t)
{
	static const char *const words[VERDICT_COUNT] = {
		[VERDICT_PENDING] = "not told",
		[VERDICT_SAMPLED] = "sampled",
		[VERDICT_NOT_PYTHON] = "not Python",
		[VERDICT_UNKNOWN] = "unknown Python",
		[VERDICT_DENIED] = "denied",
		[VERDICT_TOO_SHORT] = "too short",
		[VERDICT_GONE] = "gone before a look",
		[VERDICT_LEFT_OUT] = "left out",
	};
	size_t counts[VERDICT_COUNT] = { 0 }, seen = 0, told = 0;
	const struct weight *total = &t->h->total;

	for (size_t i = 0; i < t->h->processes.n; i++) {
		uint8_t verdict = t->h->processes.at[i].verdict;

		counts[verdict < VERDICT_COUNT ? verdict : VERDICT_PENDING]++;
		seen++;
	}
	str_printf(&t->to, "%zu process%s", seen, seen == 1 ? "" : "es");
	for (int i = VERDICT_PENDING; i < VERDICT_COUNT; i++)
		if (counts[i])
			str_printf(&t->to, "%s%zu %s", told++ ? ", " : ": ",
				   counts[i], words[i]);
	/* With more, the line would be too long. */
	str_printf(&t->to, "%s%zu thread%s", told > 2 ? "\n" : "; ",
		   t->h->threads.n, t->h->threads.n == 1 ? "" : "s");
	str_printf(&t->to, "; %.2f s CPU in %.2f s wall",
		   (double)total->cpu_ns / (double)NSEC_PER_SEC,
		   (double)total->wall_ns / (double)NSEC_PER_SEC);
	str_puts(&t->to, "\n");
}

/* The sum of the numbers of the object "dropped" in a summary; 0 without. */
static uint64_t dropped_samples(const char *summary)
{
	const char *at = summary ? strstr(summary, "\"dropped\":{") : NULL;
	uint64_t sum = 0, number = 0;

	for (at = at ? at + strlen("\"dropped\":{") : ""; *at && *at != '}';
	     at++) {
		if (*at >= '0' && *at <= '9' && number < UINT32_MAX) {
			number = number * 10 + (uint64_t)(*at - '0');
			continue;
		}
		sum += number;
		number = 0;
	}
	return sum + number;
}

/* What the notes of all runs tell of events that were lost, and of pauses. */
static void noted(struct table *t)
{
	uint64_t lost = 0, times = 0, late = 0, gap_ns = 0;

	for (size_t i = 0; i < t->h->notes.n; i++) {
		const struct record_note *note = &t->h->notes.at[i];

		lost += note->kind == NOTE_LOST ? note->value : 0;
		times += note->kind == NOTE_LOST;
		late += note->kind == NOTE_LATE ? note->value : 0;
		gap_ns += note->kind == NOTE_GAP ? note->value : 0;
	}
	if (times) {
		warn(t);
		str_printf(&t->to,
			   "events of births and ends were lost %" PRIu64
			   " time%s",
			   times, times == 1 ? "" : "s");
		if (lost)
			str_printf(&t->to, " (%" PRIu64 ")", lost);
		end_line(t);
	}
	if (late) {
		warn(t);
		str_printf(&t->to, "%" PRIu64 " processes were found late",
			   late);
		end_line(t);
	}
	if (gap_ns) {
		warn(t);
		str_printf(&t->to, "forkflame did not get to run for %.2f s",
			   (double)gap_ns / (double)NSEC_PER_SEC);
		end_line(t);
	}
}

/* What the profiler could not see. */
static void losses(struct table *t)
{
	uint64_t dropped = 0;

	noted(t);
	for (size_t i = 0; i < t->h->runs.n; i++)
		dropped += dropped_samples(t->h->runs.at[i].summary);
	if (!dropped)
		return;
	warn(t);
	str_printf(&t->to, "%" PRIu64 " sample%s dropped", dropped,
		   dropped == 1 ? " was" : "s were");
	end_line(t);
}

int table_header(struct table *t)
{
	size_t runs = 0;

	for (size_t i = 0; i < t->h->runs.n; i++) {
		const struct past_run *run = &t->h->runs.at[i];

		if (is_first_file(t->h, i) && runs++ < RUNS)
			run_lines(t, run);
		if (run->end != RECORDING_RUNNING || !goes_on(t->h, run))
			run_end(t, run);
	}
	if (runs > RUNS)
		str_printf(&t->to, "and %zu more recordings\n", runs - RUNS);
	totals_line(t);
	losses(t);
	return t->to.failed ? -ENOMEM : 0;
}

int out_table(struct history *h, const struct query *query,
	      const struct aggregate *agg, const struct out_options *options,
	      out_write write, void *ctx)
{
	struct table t = {
		.h = h, .query = query, .agg = agg, .options = options
	};
	int r;

	r = selection_make(&t.selection, h, query);
	if (r)
		return r;
	r = roles_make(&t.roles, h, query);
	if (!r)
		r = table_header(&t);
	if (!r)
		r = table_functions(&t);
	if (!r)
		r = table_processes(&t);
	if (!r)
		r = table_pools(&t);
	if (!r)
		r = t.to.failed ? -ENOMEM : write(ctx, t.to.at, t.to.len);
	roles_free(&t.roles);
	selection_free(&t.selection);
	str_free(&t.to);
	str_free(&t.cell);
	return r;
}
