/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "linux/clock.h"
#include "profile/summary.h"
#include "session_internal.h"

/* What a run has to say: progress, the summary. */

/* So many that could not be read are named; the others are counted. */
#define DENIED_NAMED 8

static const char *const value_names[] = {
	[FORKFLAME_WALL] = "wall",
	[FORKFLAME_CPU] = "cpu",
	[FORKFLAME_SAMPLES] = "samples",
	[FORKFLAME_GIL] = "gil",
};

static void count_verdicts(const struct forkflame *ff,
			   struct forkflame_progress *ret)
{
	for (size_t i = 0; i < ff->processes.n; i++) {
		const struct process *p = ff->processes.at[i];
		enum verdict verdict;

		if (!p || !p->images.n)
			continue;
		verdict = process_verdict(p);
		/* Before its first charge, a located Python counts as well. */
		if (verdict == VERDICT_SAMPLED ||
		    (ff->running && verdict == VERDICT_TOO_SHORT))
			ret->processes_sampled++;
		ret->processes_denied += verdict == VERDICT_DENIED;
		ret->processes_left_out += verdict == VERDICT_LEFT_OUT;
		ret->processes_unknown += verdict == VERDICT_UNKNOWN;
	}
}

void forkflame_progress(struct forkflame *ff, struct forkflame_progress *ret)
{
	uint64_t now_ns = ff->done ? ff->end_ns : clock_now();
	struct forkflame_progress progress = {
		.size = ret->size,
		.elapsed_ns = ff->start_ns ? nsec_since(now_ns, ff->start_ns)
					   : 0,
		.processes_seen = proctree_count(ff->tree),
		.processes_alive = proctree_alive(ff->tree),
		.samples = counts_taken(&ff->counts),
		.dropped = counts_dropped(&ff->counts),
		.ticks = ff->counts.ticks,
		.ticks_missed = ff->counts.ticks_missed,
		.command_pid = ff->command,
		.command_ended = ff->command_ended,
		.command_status = ff->command_status,
	};

	count_verdicts(ff, &progress);
	memcpy(ret, &progress,
	       ret->size < sizeof(progress) ? ret->size : sizeof(progress));
}

static void json_id(const struct forkflame *ff, struct json *j, const char *key,
		    uint32_t id)
{
	size_t len;
	const char *text = strtab_get(ff->strings, id, &len);

	json_key(j, key);
	if (len || !strcmp(key, "command"))
		json_string(j, text, len);
	else
		json_text(j, NULL);
}

/* A time since the start of the run; what began before it is at 0. */
static void json_time(const struct forkflame *ff, struct json *j,
		      const char *key, uint64_t at_ns)
{
	json_put_u64(j, key, nsec_since(at_ns, ff->start_ns));
}

static void json_images(const struct forkflame *ff, const struct process *p,
			struct json *j)
{
	json_key(j, "images");
	json_open(j, '[');
	for (size_t i = p->image_first; i < p->images.n; i++) {
		const struct image *image = p->images.at[i];
		enum verdict verdict = image->verdict;

		if (verdict == VERDICT_PENDING)
			verdict = p->left_out && i + 1 == p->images.n
					  ? VERDICT_LEFT_OUT
					  : VERDICT_GONE;
		json_open(j, '{');
		json_id(ff, j, "command",
			i + 1 == p->images.n ? process_command(p)
					     : image->command);
		json_id(ff, j, "python", image->python);
		json_put_text(j, "verdict", verdict_name(verdict));
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void json_member(const struct forkflame *ff, const struct process *p,
			struct json *j)
{
	json_open(j, '{');
	json_put_u64(j, "serial", p->serial);
	json_put_u64(j, "pid", (uint64_t)p->pid);
	json_key(j, "parent_serial");
	if (p->parent == PROCTREE_NONE)
		json_text(j, NULL);
	else
		json_u64(j, p->parent);
	json_key(j, "parent");
	if (p->parent == PROCTREE_NONE)
		json_text(j, NULL);
	else
		json_u64(j, (uint64_t)ff->processes.at[p->parent]->pid);
	json_put_text(j, "verdict", verdict_name(process_verdict(p)));
	json_images(ff, p, j);
	json_time(ff, j, "born_ns", p->born_ns);
	json_key(j, "left_ns");
	if (p->left)
		json_u64(j, nsec_since(p->left_ns, ff->start_ns));
	else
		json_text(j, NULL);
	json_key(j, "status");
	if (p->has_status)
		json_i64(j, p->status);
	else
		json_text(j, NULL);
	json_put_u64(j, "samples", p->samples);
	json_put_u64(j, "wall_ns", p->wall_ns);
	json_put_u64(j, "cpu_ns", p->cpu_ns);
	json_key(j, "first_sample_ns");
	if (p->first_sample_ns == UINT64_MAX)
		json_text(j, NULL);
	else
		json_u64(j, p->first_sample_ns);
	json_close(j, '}');
}

static struct summary summary_of(const struct forkflame *ff,
				 enum forkflame_value value)
{
	return (struct summary){
		.counts = &ff->counts,
		.version = forkflame_version(),
		.mode = value_names[value],
		.events = source_name(ff),
		.events_reason = ff->events_reason[0] ? ff->events_reason
						      : NULL,
		.oncpu = ff->oncpu || ff->oncpu_was ? "switches" : "runcounts",
		.oncpu_reason = ff->oncpu_reason[0] ? ff->oncpu_reason : NULL,
		.sampler = ff->kernel.used ? "kernel" : "stop",
		.sampler_reason = ff->kernel.reason[0] ? ff->kernel.reason
						       : NULL,
		.kernel = ff->kernel.counts,
		.posts = ff->posts.counts,
		.duration_ns = nsec_since(ff->end_ns, ff->start_ns),
		.interval_ns = ff->options.interval_ns,
		.profiler_cpu_ns = ff->cpu_used_ns,
		.listener = ff->listened,
	};
}

static int write_str(struct str *s, forkflame_write_fn write, void *ctx)
{
	int r = s->failed ? -ENOMEM : write(ctx, s->at, s->len);

	str_free(s);
	return r;
}

void session_summary_json(const struct forkflame *ff,
			  enum forkflame_value value, bool members,
			  struct str *to)
{
	struct summary summary = summary_of(ff, value);
	struct json j = { .to = to };

	json_open(&j, '{');
	summary_json(&summary, &j);
	if (members) {
		json_key(&j, "members");
		json_open(&j, '[');
		for (size_t i = 0; i < ff->processes.n; i++)
			if (ff->processes.at[i])
				json_member(ff, ff->processes.at[i], &j);
		json_close(&j, ']');
	}
	json_close(&j, '}');
}

/* Whom we were refused, by number and command. */
static void text_denied(const struct forkflame *ff, struct str *to)
{
	size_t told = 0, len;
	const char *command;

	for (size_t i = 0; i < ff->processes.n && told < DENIED_NAMED; i++) {
		const struct process *p = ff->processes.at[i];

		if (!p || !p->images.n || process_verdict(p) != VERDICT_DENIED)
			continue;
		command = strtab_get(ff->strings, process_command(p), &len);
		str_printf(to, "%s%d (", told++ ? ", " : "denied: ", p->pid);
		str_escape(to, command, len < 60 ? len : 60, "");
		str_puts(to, ")");
	}
	if (ff->counts.verdicts[VERDICT_DENIED] > told)
		str_puts(to, ", ...");
	if (told)
		str_puts(to, "\n");
}

int forkflame_summary(struct forkflame *ff,
		      enum forkflame_summary_format format,
		      enum forkflame_value value, forkflame_write_fn write,
		      void *ctx)
{
	struct summary summary = summary_of(ff, value);
	struct str text = { 0 };

	if (format == FORKFLAME_TEXT) {
		summary_text(&summary, &text);
		text_denied(ff, &text);
	} else {
		session_summary_json(ff, value, true, &text);
		str_puts(&text, "\n");
	}
	return write_str(&text, write, ctx);
}
