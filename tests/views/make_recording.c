/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nsec.h"
#include "profile/recorder.h"

/*
 * make_recording KIND NUMBER FILE: write a recording that is too long to be made
 * by waiting for it, the way a session does: told to a recorder, flushed at each
 * second of the run. Kinds:
 *   members  NUMBER processes of one pool, 10 minutes, two at a time on a CPU
 *   samples  NUMBER samples of 64 threads that always run; half of the samples
 *            find another stack than the one before
 *   workers  NUMBER equal workers of one pool, 10 minutes, each at work for a
 *            third of the time
 *   stacks   NUMBER different stacks of one thread, each for one sample: a random
 *            recursion over 8 functions
 * Prints the most memory that it had by half of the time, and in all, in kB.
 */

#define TICK_NS (10 * NSEC_PER_MSEC)
#define MEMBERS_NS (600 * NSEC_PER_SEC)
#define STACKS 4096u

struct teller {
	struct strtab *strings;
	struct stacks *stacks;
	struct recorder *rec;
	FILE *file;
	uint32_t stack[STACKS];
	uint32_t seed;
	long half_kb; /* memory by half of the time */
};

static unsigned pick(struct teller *t, unsigned n)
{
	t->seed = t->seed * 1103515245 + 12345;
	return (t->seed >> 8) % n;
}

static int put(void *ctx, const char *bytes, size_t len)
{
	return fwrite(bytes, 1, len, ctx) == len ? 0 : -EIO;
}

static uint32_t string(struct teller *t, const char *text)
{
	return strtab_id(t->strings, text, strlen(text));
}

/* A few of the stacks are hot, most are rare. */
static uint32_t some_stack(struct teller *t)
{
	unsigned within = 1 + pick(t, 1 + pick(t, STACKS));

	return t->stack[pick(t, within)];
}

/* Stacks of 8 to 23 frames: few functions at the root, many at the leaves. */
static void make_stacks(struct teller *t)
{
	char name[32], file[48];

	for (unsigned i = 0; i < STACKS; i++) {
		unsigned depth = 8 + pick(t, 16);
		uint32_t at = STACKS_EMPTY;

		for (unsigned k = 0; k < depth; k++) {
			unsigned f = k < 6 ? 2 * k + pick(t, 2) : pick(t, 800);
			struct frame frame = { .line = (int)(f % 300) + 1 };

			(void)snprintf(name, sizeof(name), "function_%u", f);
			(void)snprintf(file, sizeof(file),
				       "/srv/app/module_%u.py", f % 97);
			frame.function = string(t, name);
			frame.file = string(t, file);
			at = stacks_push(t->stacks, at,
					 stacks_frame(t->stacks, &frame));
		}
		t->stack[i] = at;
	}
}

static int begin(struct teller *t)
{
	struct record_run run = { .unix_ns = 1700000000 * NSEC_PER_SEC,
				  .interval_ns = TICK_NS,
				  .cpus = 64 };

	t->seed = 1;
	t->strings = strtab_new();
	t->stacks = stacks_new();
	if (!t->strings || !t->stacks)
		return -ENOMEM;
	make_stacks(t);
	t->rec = recorder_new(t->strings, t->stacks, RECORDER_ZSTD);
	if (!t->rec)
		return -ENOMEM;
	run.host = string(t, "host");
	run.version = string(t, "made up");
	run.title = string(t, "python3 serve.py");
	run.events = string(t, "connector");
	run.oncpu = string(t, "switches");
	recorder_run(t->rec, &run);
	return 0;
}

/* Not of getrusage: there the most is that of who started us, too. */
static long most_kb(void)
{
	FILE *status = fopen("/proc/self/status", "r");
	char line[128];
	long kb = 0;

	while (status && fgets(line, sizeof(line), status))
		if (!strncmp(line, "VmHWM:", 6))
			kb = strtol(line + 6, NULL, 10);
	if (status)
		(void)fclose(status);
	return kb;
}

static int flush(struct teller *t, uint64_t at_ns)
{
	if (at_ns % NSEC_PER_SEC)
		return 0;
	return recorder_flush(t->rec, at_ns, put, t->file);
}

/* A summary ends a recording in order. */
static int end(struct teller *t, uint64_t at_ns)
{
	static const char summary[] = "{\"version\":\"made up\"}";

	recorder_summary(t->rec, summary, sizeof(summary) - 1);
	return recorder_flush(t->rec, at_ns, put, t->file);
}

/* A process of one image; returns its number, and that of the image. */
static uint32_t process(struct teller *t, uint32_t parent, int32_t pid,
			uint64_t born_ns, uint32_t *ret_image)
{
	struct record_process process = { .parent = parent,
					  .pid = pid,
					  .born_ns = born_ns,
					  .cgroup = string(t, "") };
	struct record_image image = {
		.at_ns = born_ns,
		.command = string(t, "python3 serve.py"),
		.python = string(t, "3.11.2"),
	};

	image.process = recorder_process(t->rec, &process);
	*ret_image = recorder_image(t->rec, &image);
	return image.process;
}

static uint32_t thread(struct teller *t, uint32_t process, uint32_t image,
		       int32_t tid, uint64_t born_ns)
{
	struct record_thread thread = { process, image, tid, born_ns };
	uint32_t number = recorder_thread(t->rec, &thread);

	recorder_thread_name(t->rec, number, string(t, "MainThread"));
	return number;
}

static void slice(struct teller *t, uint32_t thread, uint64_t start_ns,
		  uint64_t wall_ns, uint32_t stack, bool busy)
{
	struct slice slice = {
		.thread = thread,
		.start_ns = start_ns,
		.seen = { .stack = stack,
			  .run = busy ? RUN_ON_CPU : RUN_IDLE,
			  .gil = busy ? GIL_HELD : GIL_NONE,
			  .wait = busy ? WAIT_UNKNOWN : WAIT_SOCKET },
		.weight = { wall_ns, busy ? wall_ns : 0, 1 },
	};

	if (wall_ns)
		recorder_slice(t->rec, &slice);
}

struct member {
	uint32_t thread;
	uint64_t born_ns, until_ns; /* told until then */
};

static void wake(struct teller *t, struct member *m, uint64_t at_ns, bool busy)
{
	if (at_ns < m->until_ns)
		return;
	slice(t, m->thread, m->until_ns, at_ns - m->until_ns, t->stack[0],
	      false);
	m->until_ns = at_ns;
	if (!busy)
		return;
	slice(t, m->thread, at_ns, TICK_NS, some_stack(t), true);
	m->until_ns += TICK_NS;
}

static int tell_members(struct teller *t, unsigned n)
{
	struct member *members = calloc(n, sizeof(*members));
	unsigned running[2] = { 0, 0 };
	uint32_t root, image;
	int r = members ? 0 : -ENOMEM;

	root = process(t, RECORD_NONE, 1000, 0, &image);
	for (unsigned i = 0; !r && i < n; i++) {
		uint64_t born_ns = i * (20 * NSEC_PER_SEC / n);
		uint32_t p = process(t, root, 1001 + (int)i, born_ns, &image);

		members[i].thread = thread(t, p, image, 1001 + (int)i, born_ns);
		members[i].until_ns = born_ns;
	}
	for (uint64_t at = TICK_NS; !r && at < MEMBERS_NS; at += TICK_NS) {
		for (int k = 0; k < 2; k++) {
			if (!pick(t, 12))
				running[k] = pick(t, n);
			wake(t, &members[running[k]], at, true);
		}
		r = flush(t, at);
	}
	for (unsigned i = 0; !r && i < n; i++)
		wake(t, &members[i], MEMBERS_NS, false);
	free(members);
	return r ? r : end(t, MEMBERS_NS);
}

#define THREADS 64u

static int tell_samples(struct teller *t, unsigned n)
{
	uint32_t threads[THREADS], stacks[THREADS];
	uint32_t p = 0, root = RECORD_NONE, image = 0;
	unsigned ticks = n / THREADS;
	int r = 0;

	for (unsigned i = 0; i < THREADS; i++) {
		if (i % 4 == 0)
			p = process(t, root, 2000 + (int)i, 0, &image);
		if (!i)
			root = p;
		threads[i] = thread(t, p, image, 2000 + (int)i, 0);
		stacks[i] = t->stack[i];
	}
	for (unsigned k = 0; !r && k < ticks; k++) {
		for (unsigned i = 0; i < THREADS; i++) {
			if (pick(t, 2))
				stacks[i] = some_stack(t);
			slice(t, threads[i], k * TICK_NS, TICK_NS, stacks[i],
			      true);
		}
		r = flush(t, (k + 1) * TICK_NS);
	}
	return r ? r : end(t, ticks * TICK_NS);
}

#define WORKER_STACKS 16u

static int tell_workers(struct teller *t, unsigned n)
{
	uint32_t *threads = calloc(n, sizeof(*threads));
	uint32_t root, image;
	int r = threads ? 0 : -ENOMEM;

	root = process(t, RECORD_NONE, 3000, 0, &image);
	for (unsigned i = 0; !r && i < n; i++) {
		uint32_t p = process(t, root, 3001 + (int)i, 0, &image);

		threads[i] = thread(t, p, image, 3001 + (int)i, 0);
	}
	for (uint64_t at = 0; !r && at < MEMBERS_NS; at += TICK_NS) {
		for (unsigned i = 0; i < n; i++) {
			bool busy = !pick(t, 3);
			unsigned stack = busy ? pick(t, WORKER_STACKS) : 0;

			slice(t, threads[i], at, TICK_NS, t->stack[stack],
			      busy);
		}
		if (at == MEMBERS_NS / 2)
			t->half_kb = most_kb();
		r = flush(t, at + TICK_NS);
	}
	free(threads);
	return r ? r : end(t, MEMBERS_NS);
}

#define FUNCTIONS 8u
#define DIGITS 6

/* No two numbers below 8^6 have one stack. */
static uint32_t recursion(struct teller *t, unsigned number)
{
	unsigned rest = number * 100003u; /* odd: another order of them all */
	uint32_t at = t->stack[0];
	struct frame frame = { .file = string(t, "/srv/app/maze.py") };
	char name[32];

	for (unsigned i = 0; i < DIGITS + number % DIGITS; i++) {
		/* What is beyond the digits is the way there. */
		unsigned f = i < number % DIGITS ? 0 : rest % FUNCTIONS;

		if (i >= number % DIGITS)
			rest /= FUNCTIONS;
		(void)snprintf(name, sizeof(name), "turn_%u", f);
		frame.function = string(t, name);
		frame.line = (int)f + 10;
		at = stacks_push(t->stacks, at,
				 stacks_frame(t->stacks, &frame));
	}
	return at;
}

static int tell_stacks(struct teller *t, unsigned n)
{
	uint32_t image, p = process(t, RECORD_NONE, 4000, 0, &image);
	uint32_t only = thread(t, p, image, 4000, 0);
	int r = 0;

	for (unsigned i = 0; !r && i < n; i++) {
		slice(t, only, i * TICK_NS, TICK_NS, recursion(t, i), true);
		if (i == n / 2)
			t->half_kb = most_kb();
		r = flush(t, (i + 1) * TICK_NS);
	}
	return r ? r : end(t, n * TICK_NS);
}

static int tell(struct teller *t, const char *kind, unsigned n)
{
	static const struct {
		const char *name;
		int (*fn)(struct teller *t, unsigned n);
	} kinds[] = {
		{ "members", tell_members },
		{ "samples", tell_samples },
		{ "workers", tell_workers },
		{ "stacks", tell_stacks },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kind, kinds[i].name))
			return kinds[i].fn(t, n);
	return -EINVAL;
}

int main(int argc, char **argv)
{
	struct teller *t = calloc(1, sizeof(*t));
	unsigned n = argc == 4 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
	int r = -EINVAL;

	if (!t || !n)
		goto out;
	t->file = fopen(argv[3], "wb");
	if (!t->file)
		goto out;
	r = begin(t);
	if (!r)
		r = tell(t, argv[1], n);
	if (!r)
		printf("%ld %ld\n", t->half_kb, most_kb());
	if (fclose(t->file))
		r = -EIO;
	recorder_free(t->rec);
	stacks_free(t->stacks);
	strtab_free(t->strings);
out:
	free(t);
	if (r)
		fputs("make_recording KIND NUMBER FILE: could not be written\n",
		      stderr);
	return r ? 1 : 0;
}
