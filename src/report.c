/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "forkflame/forkflame.h"
#include "profile/history.h"
#include "profile/out.h"
#include "profile/query.h"

/* Views of recordings, for those who do not know what the library is made of. */

struct forkflame_report {
	struct history *history;
	struct history *base; /* NULL: nothing to compare with */
	struct error err;
};

int forkflame_report_new(struct forkflame_report **ret)
{
	struct forkflame_report *report = calloc(1, sizeof(*report));

	*ret = report;
	if (!report)
		return -ENOMEM;
	report->history = history_new();
	if (report->history)
		return 0;
	free(report);
	*ret = NULL;
	return -ENOMEM;
}

void forkflame_report_free(struct forkflame_report *report)
{
	if (!report)
		return;
	history_free(report->history);
	history_free(report->base);
	free(report);
}

const char *forkflame_report_strerror(const struct forkflame_report *report)
{
	return report->err.text;
}

int forkflame_report_add(struct forkflame_report *report, const char *bytes,
			 size_t len, bool base)
{
	int r;

	report->err = ERROR_NONE;
	if (base && !report->base) {
		report->base = history_new();
		if (!report->base)
			return error_set(&report->err, -ENOMEM, "read it");
	}
	r = history_add(base ? report->base : report->history, bytes, len);
	if (r == -EINVAL)
		return error_set(&report->err, r, "no recording of forkflame");
	if (r == -ENOTSUP)
		return error_set(&report->err, r,
				 "a recording of a kind that this forkflame "
				 "does not know");
	return r < 0 ? error_set(&report->err, r, "read it") : 0;
}

bool forkflame_report_source(struct forkflame_report *report, uint32_t index,
			     struct forkflame_source *ret)
{
	static const enum forkflame_ending endings[] = {
		[RECORDING_WHOLE] = FORKFLAME_WHOLE,
		[RECORDING_RUNNING] = FORKFLAME_RUNNING,
		[RECORDING_CUT] = FORKFLAME_CUT,
		[RECORDING_DAMAGED] = FORKFLAME_DAMAGED,
	};
	struct forkflame_source source = { .size = ret->size };
	const struct past_run *run;

	if (index >= report->history->runs.n)
		return false;
	run = &report->history->runs.at[index];
	source.ending = endings[run->end];
	source.good_bytes = run->good;
	source.bytes = run->size;
	source.duration_ns = run->end_ns - run->shift_ns;
	source.samples = report->history->total.samples;
	memcpy(ret, &source,
	       ret->size < sizeof(source) ? ret->size : sizeof(source));
	return true;
}

bool forkflame_report_process(struct forkflame_report *report, uint32_t index,
			      struct forkflame_process *ret)
{
	struct forkflame_process process = { .size = ret->size };
	const struct past_process *p;

	if (index >= report->history->processes.n)
		return false;
	p = &report->history->processes.at[index];
	process.pid = p->pid;
	process.again = p->again;
	process.has_samples = p->total.samples > 0;
	memcpy(ret, &process,
	       ret->size < sizeof(process) ? ret->size : sizeof(process));
	return true;
}

/* The regular expressions of a view, compiled. */
struct patterns {
	regex_t include, exclude;
	bool has_include, has_exclude;
};

static int compile(struct forkflame_report *report, const char *text,
		   regex_t *ret, bool *ret_has)
{
	char why[128];
	int r;

	if (!text)
		return 0;
	r = regcomp(ret, text, REG_EXTENDED | REG_NOSUB);
	if (r != 0) {
		(void)regerror(r, ret, why, sizeof(why));
		return error_set(&report->err, -EINVAL,
				 "'%.80s' is no regular expression: %s", text,
				 why);
	}
	*ret_has = true;
	return 0;
}

static void patterns_free(struct patterns *patterns)
{
	if (patterns->has_include)
		regfree(&patterns->include);
	if (patterns->has_exclude)
		regfree(&patterns->exclude);
}

static struct query query_of(const struct forkflame_report *report,
			     const struct forkflame_view *view,
			     const struct patterns *patterns)
{
	static const enum query_group groups[] = {
		[FORKFLAME_BY_PROCESS] = GROUP_PROCESS,
		[FORKFLAME_BY_THREAD] = GROUP_THREAD,
		[FORKFLAME_BY_ROLE] = GROUP_ROLE,
		[FORKFLAME_BY_NOTHING] = GROUP_ALL,
	};
	static const enum query_frames frames[] = {
		[FORKFLAME_LINES] = FRAMES_LINES,
		[FORKFLAME_FUNCTIONS] = FRAMES_FUNCTIONS,
		[FORKFLAME_FILES] = FRAMES_FILES,
	};
	struct query query = QUERY_ALL;
	const struct history *h = report->history;

	if (view->only >= 0)
		query.process = (uint32_t)view->only;
	query.pids = view->pids;
	query.n_pids = view->n_pids;
	query.trees = view->trees;
	query.n_trees = view->n_trees;
	query.threads = view->threads;
	query.n_threads = view->n_threads;
	query.since_ns = view->since_ns;
	if (view->until_ns)
		query.until_ns = view->until_ns;
	query.idle = !view->busy;
	query.gil = view->holding;
	query.include = patterns->has_include ? &patterns->include : NULL;
	query.exclude = patterns->has_exclude ? &patterns->exclude : NULL;
	query.group = groups[view->group];
	query.frames = frames[view->frames];
	/* Processes are matched by what they are: their numbers differ. */
	if (report->base && query.group < GROUP_ROLE)
		query.group = GROUP_ROLE;
	for (size_t i = 1; i < h->runs.n; i++)
		if (h->runs.at[i].run.host != h->runs.at[0].run.host)
			query.hosts = true;
	return query;
}

/* Writers of a tree of weights. */
typedef int (*tree_writer)(const struct aggregate *agg,
			   const struct out_options *options, out_write write,
			   void *ctx);

/* Writers of the course of time. */
typedef int (*time_writer)(const struct history *h, const struct query *query,
			   const struct out_options *options, out_write write,
			   void *ctx);

static const tree_writer tree_writers[] = {
	[FORKFLAME_COLLAPSED] = out_collapsed,
	[FORKFLAME_SVG] = out_svg,
	[FORKFLAME_CALLGRIND] = out_callgrind,
	[FORKFLAME_PSTATS] = out_pstats,
	[FORKFLAME_TABLE] = NULL,
};

static const time_writer time_writers[] = {
	[FORKFLAME_SPEEDSCOPE] = out_speedscope,
	[FORKFLAME_PPROF] = out_pprof,
	[FORKFLAME_CHROME] = out_chrome,
	[FORKFLAME_FIREFOX] = out_firefox,
	[FORKFLAME_JSONL] = out_jsonl,
	[FORKFLAME_FLAMECHART] = out_flamechart,
	[FORKFLAME_TABLE] = NULL,
};

static int write_tree(struct forkflame_report *report,
		      const struct query *query, enum forkflame_format format,
		      const struct out_options *options, out_write write,
		      void *ctx)
{
	struct aggregate *agg = NULL;
	int r = query_aggregate(report->history, query, &agg);

	if (r == 0 && report->base)
		r = query_compare(agg, report->history, query, report->base);
	if (r == 0 && format == FORKFLAME_TABLE)
		r = out_table(report->history, query, agg, options, write, ctx);
	else if (r == 0)
		r = tree_writers[format](agg, options, write, ctx);
	aggregate_free(agg);
	return r;
}

static int write_view(struct forkflame_report *report,
		      const struct forkflame_view *view,
		      const struct query *query, out_write write, void *ctx)
{
	static const enum out_value values[] = {
		[FORKFLAME_WALL] = OUT_WALL,
		[FORKFLAME_CPU] = OUT_CPU,
		[FORKFLAME_SAMPLES] = OUT_SAMPLES,
		[FORKFLAME_GIL] = OUT_GIL,
	};
	struct out_options options = {
		.value = values[view->value],
		.title = view->title,
		.diff = report->base != NULL,
		.rows = view->rows,
		.color = view->color,
		.source = view->source,
		.source_ctx = view->source_ctx,
	};

	if (view->format == FORKFLAME_FLAMEGRAPH)
		return out_page(report->history, query, report->base, &options,
				write, ctx);
	if (!time_writers[view->format])
		return write_tree(report, query, view->format, &options, write,
				  ctx);
	if (report->base)
		return error_set(&report->err, -EINVAL,
				 "this format shows no comparison");
	return time_writers[view->format](report->history, query, &options,
					  write, ctx);
}

int forkflame_report_write(struct forkflame_report *report,
			   const struct forkflame_view *view,
			   forkflame_write_fn write, void *ctx)
{
	struct forkflame_view full = FORKFLAME_VIEW;
	struct patterns patterns = { 0 };
	struct query query;
	int r;

	report->err = ERROR_NONE;
	memcpy(&full, view,
	       view->size < sizeof(full) ? view->size : sizeof(full));
	r = compile(report, full.include, &patterns.include,
		    &patterns.has_include);
	if (r == 0)
		r = compile(report, full.exclude, &patterns.exclude,
			    &patterns.has_exclude);
	if (r == 0) {
		query = query_of(report, &full, &patterns);
		r = write_view(report, &full, &query, write, ctx);
	}
	patterns_free(&patterns);
	return r;
}
