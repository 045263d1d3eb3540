/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "base/nsec.h"
#include "session_internal.h"

/*
 * Every stack of the tree, once. It is a run of a few ticks: each thread is
 * sampled as in any run, and what is printed is its newest stack.
 */

/* A thread that could not be read at once is tried so often, 1 ms apart. */
#define DUMP_TICKS 20

static bool all_read(const struct forkflame *ff)
{
	for (size_t i = 0; i < ff->processes.n; i++) {
		const struct process *p = ff->processes.at[i];

		for (size_t k = 0; p && k < p->threads.n; k++)
			if (!weigh_has(&p->threads.at[k]->weigh))
				return false;
	}
	return true;
}

/* What there is to say of a process without stacks. */
static const char *verdict_words(enum verdict verdict)
{
	switch (verdict) {
	case VERDICT_NOT_PYTHON:
		return "no Python";
	case VERDICT_UNKNOWN:
		return "a Python that is not known here:";
	case VERDICT_DENIED:
		return "access denied";
	default:
		return "not known yet";
	}
}

static const char *thread_state(const struct thread *t)
{
	static const char *const names[RUN_COUNT] = {
		[RUN_IDLE] = "idle",
		[RUN_ON_CPU] = "running",
		[RUN_STOPPED] = "stopped",
	};

	return weigh_has(&t->weigh) ? names[t->weigh.seen.run] : "unread";
}

/* What it has to do with the interpreter's lock, for a person. */
static const char *gil_words(const struct thread *t)
{
	if (!weigh_has(&t->weigh))
		return "";
	if (t->weigh.seen.gil == GIL_HELD)
		return ", holds the GIL";
	return t->weigh.seen.gil == GIL_WAITED ? ", waits for the GIL" : "";
}

static void text_id(const struct forkflame *ff, struct str *to, uint32_t id)
{
	size_t len;
	const char *text = strtab_get(ff->strings, id, &len);

	str_escape(to, text, len, "");
}

/* The frames of a stack, innermost first: each calls @one. */
static void each_frame(const struct forkflame *ff, uint32_t stack,
		       void (*one)(const struct forkflame *, void *,
				   const struct frame *),
		       void *ctx)
{
	while (stack != STACKS_NONE && stack != STACKS_EMPTY) {
		struct stack at = stacks_at(ff->stacks, stack);
		struct frame frame = stacks_frame_at(ff->stacks, at.frame);

		one(ff, ctx, &frame);
		stack = at.parent;
	}
}

static void text_frame(const struct forkflame *ff, void *ctx,
		       const struct frame *frame)
{
	struct str *to = ctx;

	str_puts(to, "    ");
	text_id(ff, to, frame->function);
	str_puts(to, " (");
	text_id(ff, to, frame->file);
	str_printf(to, ":%d)\n", frame->line);
}

static void text_process(const struct forkflame *ff, const struct process *p,
			 struct str *to)
{
	const struct image *image = process_image(p);

	str_printf(to, "Process %d: ", p->pid);
	text_id(ff, to, process_command(p));
	str_puts(to, "\n");
	if (image->verdict == VERDICT_SAMPLED)
		str_puts(to, "Python");
	else
		str_puts(to, verdict_words(image->verdict));
	if (image->python) {
		str_puts(to, " ");
		text_id(ff, to, image->python);
	}
	if (p->parent != PROCTREE_NONE)
		str_printf(to, ", child of %d", process_at(ff, p->parent)->pid);
	str_puts(to, "\n");
	for (size_t i = 0; i < p->threads.n; i++) {
		const struct thread *t = p->threads.at[i];

		str_printf(to, "  Thread %d (", t->tid);
		text_id(ff, to, t->name);
		str_printf(to, "): %s%s\n", thread_state(t), gil_words(t));
		each_frame(ff, t->weigh.seen.stack, text_frame, to);
	}
	str_puts(to, "\n");
}

static void json_id(const struct forkflame *ff, struct json *j, const char *key,
		    uint32_t id)
{
	size_t len;
	const char *text = strtab_get(ff->strings, id, &len);

	json_key(j, key);
	json_string(j, text, len);
}

static void json_frame(const struct forkflame *ff, void *ctx,
		       const struct frame *frame)
{
	struct json *j = ctx;

	json_open(j, '{');
	json_id(ff, j, "function", frame->function);
	json_id(ff, j, "file", frame->file);
	json_key(j, "line");
	json_i64(j, frame->line);
	json_close(j, '}');
}

static void json_thread(const struct forkflame *ff, const struct thread *t,
			struct json *j)
{
	static const char *const gils[GIL_COUNT] = {
		[GIL_NONE] = "none",
		[GIL_HELD] = "holds",
		[GIL_WAITED] = "waits",
	};
	static const char *const waits[WAIT_COUNT] = {
		[WAIT_GIL] = "gil",       [WAIT_LOCK] = "lock",
		[WAIT_PIPE] = "pipe",     [WAIT_SOCKET] = "socket",
		[WAIT_FILE] = "file",     [WAIT_POLL] = "poll",
		[WAIT_TIME] = "time",     [WAIT_PROCESS] = "process",
		[WAIT_SIGNAL] = "signal", [WAIT_OTHER] = "other",
	};

	json_open(j, '{');
	json_put_u64(j, "tid", (uint64_t)t->tid);
	json_id(ff, j, "name", t->name);
	json_put_text(j, "state", thread_state(t));
	json_put_text(j, "gil",
		      weigh_has(&t->weigh) ? gils[t->weigh.seen.gil] : NULL);
	json_put_text(j, "waits_for",
		      weigh_has(&t->weigh) ? waits[t->weigh.seen.wait] : NULL);
	json_key(j, "frames");
	json_open(j, '[');
	each_frame(ff, t->weigh.seen.stack, json_frame, j);
	json_close(j, ']');
	json_close(j, '}');
}

static void json_process(const struct forkflame *ff, const struct process *p,
			 struct json *j)
{
	const struct image *image = process_image(p);

	json_open(j, '{');
	json_put_u64(j, "pid", (uint64_t)p->pid);
	json_key(j, "parent");
	if (p->parent == PROCTREE_NONE)
		json_text(j, NULL);
	else
		json_u64(j, (uint64_t)process_at(ff, p->parent)->pid);
	json_id(ff, j, "command", process_command(p));
	if (image->python) {
		json_id(ff, j, "python", image->python);
	} else {
		json_key(j, "python");
		json_text(j, NULL);
	}
	json_put_text(j, "verdict", verdict_name(image->verdict));
	json_key(j, "threads");
	json_open(j, '[');
	for (size_t i = 0; i < p->threads.n; i++)
		json_thread(ff, p->threads.at[i], j);
	json_close(j, ']');
	json_close(j, '}');
}

/* Of a whole machine, what is no Python is no news. */
static bool is_shown(const struct forkflame *ff, const struct process *p)
{
	enum verdict verdict = process_image(p)->verdict;

	if (p->left_out)
		return false;
	return !ff->everybody || verdict == VERDICT_SAMPLED ||
	       verdict == VERDICT_UNKNOWN;
}

/* After all stacks, so that none waits for a name. */
static void ask_names(struct forkflame *ff)
{
	struct str name = { 0 };

	for (size_t i = 0; i < ff->processes.n; i++) {
		struct process *p = ff->processes.at[i];

		for (size_t k = 0; p && !p->left && k < p->threads.n; k++) {
			uint32_t id;

			session_thread_name(ff, p->threads.at[k], &name);
			id = strtab_id(ff->strings, name.at ? name.at : "",
				       name.len);
			p->threads.at[k]->name = id == STRTAB_NONE ? 0 : id;
		}
	}
	str_free(&name);
}

static void print_dump(struct forkflame *ff)
{
	struct json j = { .to = &ff->dump };
	bool json = ff->dump_format == FORKFLAME_JSON;

	if (json) {
		json_open(&j, '{');
		json_key(&j, "processes");
		json_open(&j, '[');
	}
	for (size_t i = 0; i < ff->processes.n; i++) {
		const struct process *p = ff->processes.at[i];

		if (!p || p->left || !p->images.n || !is_shown(ff, p))
			continue;
		if (json)
			json_process(ff, p, &j);
		else
			text_process(ff, p, &ff->dump);
	}
	if (json) {
		json_close(&j, ']');
		json_close(&j, '}');
		str_puts(&ff->dump, "\n");
	}
}

int session_dump(struct forkflame *ff)
{
	struct timespec wait = { .tv_nsec = NSEC_PER_MSEC };
	int r = session_take_events(ff);

	for (int i = 0; i < DUMP_TICKS && r == 0; i++) {
		session_tick(ff);
		if (all_read(ff))
			break;
		(void)nanosleep(&wait, NULL);
		stopper_reap(ff->stopper);
		r = session_take_events(ff);
	}
	if (r == 0) {
		ask_names(ff);
		print_dump(ff);
	}
	return r;
}

int forkflame_dump(struct forkflame *ff, enum forkflame_summary_format format,
		   forkflame_write_fn write, void *ctx)
{
	int r;

	ff->dumping = true;
	ff->dump_format = format;
	r = forkflame_run(ff);
	if (r == 0)
		r = ff->dump.failed ? -ENOMEM
				    : write(ctx, ff->dump.at ? ff->dump.at : "",
					    ff->dump.len);
	str_free(&ff->dump);
	return r;
}
