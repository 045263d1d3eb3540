/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "pasttest.h"
#include "profile/out.h"

/*
 * make_page KIND FILE: write a page of a history that was made up, for the live
 * test and for looking at. Kinds:
 *   empty    a run of which nothing is known
 *   small    that of pasttest.h, with its hostile names
 *   pool     a Pool(8) of 30 s, of which one worker was killed
 *   hosts    two of these, on two hosts
 *   diff     such a pool, one function slower, against it
 *   many     1000 processes, 10 minutes, two running at 100 Hz
 *   stacks   100,000 different stacks
 */

struct random {
	uint32_t seed;
};

static unsigned pick(struct random *random, unsigned n)
{
	random->seed = random->seed * 1103515245 + 12345;
	return (random->seed >> 16) % n;
}

#define WORKER                             \
	"/srv/shop/worker.py:<module>:88;" \
	"/srv/shop/worker.py:main:71;"     \
	"/usr/lib/python3.11/multiprocessing/pool.py:worker:125;"
#define RECEIVING                                                            \
	WORKER "/usr/lib/python3.11/multiprocessing/connection.py:recv:250;" \
	       "/usr/lib/python3.11/multiprocessing/connection.py:_recv:379"

/* Some work of a worker; @which of its kinds. */
static uint32_t work(struct maker *m, unsigned which)
{
	static const char *const names[] = { "decode", "convert", "normalize",
					     "encode", "checksum" };
	const char *name = names[which / 3 % 5];
	uint32_t stack = maker_stack(m, WORKER "/srv/shop/app/jobs.py:run:33");
	int line = (int)(which % 7);

	switch (which % 3) {
	case 0:
		stack = maker_push(m, stack, "/srv/shop/app/images.py",
				   "resize", 41 + line);
		return maker_push(m, stack,
				  "/usr/lib/python3/dist-packages/PIL/Image.py",
				  name, 2115 + line % 3);
	case 1:
		stack = maker_push(m, stack, "/srv/shop/app/orders.py", "price",
				   120 + line);
		return maker_push(m, stack, "/srv/shop/app/tax.py", name,
				  30 + line);
	default:
		stack = maker_push(m, stack, "/srv/shop/app/search.py", "rank",
				   64);
		return maker_push(m, stack, "/srv/shop/app/search.py", name,
				  80 + line % 4);
	}
}

/* One worker's life; @slower stretches one kind of work. Returns its end. */
static uint64_t live(struct maker *m, struct random *random, uint32_t thread,
		     uint64_t at, uint64_t end, unsigned slower)
{
	while (at < end) {
		uint64_t length = 10 + pick(random, 9) * 10;
		unsigned which = pick(random, 60), chance = pick(random, 100);

		if (chance < 25) {
			length *= 5;
			maker_idle(m, thread, at, length,
				   maker_stack(m, RECEIVING), WAIT_PIPE);
		} else if (chance < 35) {
			maker_idle(m, thread, at, length, work(m, which),
				   WAIT_GIL);
		} else {
			if (which % 3 == 1)
				length *= slower;
			maker_busy(m, thread, at, length, work(m, which));
		}
		at += length;
	}
	return at;
}

static void tell_pool(struct maker *m, const char *host, uint32_t seed,
		      unsigned slower)
{
	struct random random = { seed };
	uint32_t root, image, thread;

	maker_begin(m, host, PAST_UNIX_NS);
	root = maker_process(m, RECORD_NONE, 4100, 0);
	image = maker_image(m, root, 0, "python3 manage.py runjobs", "3.11.2");
	thread = maker_thread(m, root, image, 4100, 0, "MainThread");
	maker_busy(m, thread, 0, 900,
		   maker_stack(m, "/srv/shop/manage.py:main:11"));
	maker_idle(m, thread, 900, 29100,
		   maker_stack(m, "/srv/shop/manage.py:main:15;"
				  "/usr/lib/python3.11/multiprocessing/"
				  "pool.py:join:665"),
		   WAIT_LOCK);
	for (int i = 0; i < 8; i++) {
		uint64_t born = 800 + (uint64_t)i * 35;
		uint64_t end = i == 5 ? 17000 : 27000 + pick(&random, 2000);
		uint32_t process = maker_process(m, root, 4110 + i, born);

		image = maker_image(m, process, born,
				    "python3 worker.py --queue orders",
				    "3.11.2");
		thread = maker_thread(m, process, image, 4110 + i, born,
				      "MainThread");
		end = live(m, &random, thread, born, end, slower);
		maker_process_end(m, process, end, 1, i == 5 ? 9 : 0);
	}
	maker_process_end(m, root, 30000, 1, 0);
	recorder_note(m->rec, &(struct record_note){ .kind = NOTE_LOST,
						     .at_ns = 21500 * PAST_MS,
						     .value = 12 });
	recorder_summary(m->rec, PAST_SUMMARY, strlen(PAST_SUMMARY));
	maker_flush(m, 30000);
}

#define MANY 1000u
#define MANY_MS 600000u

struct member {
	uint32_t process, thread;
	uint64_t idle_ms; /* since then */
};

static void tell_members(struct maker *m, struct member *members, uint32_t root)
{
	for (unsigned i = 0; i < MANY; i++) {
		uint64_t born = (uint64_t)i * MANY_MS / MANY / 2;
		int32_t pid = 1001 + (int32_t)i;
		const char *command = i % 10 == 9 ? "celery worker -Q mail"
						  : "gunicorn: worker [shop]";
		uint32_t image;

		members[i].process = maker_process(m, root, pid, born);
		image = maker_image(m, members[i].process, born, command,
				    "3.11.2");
		members[i].thread = maker_thread(m, members[i].process, image,
						 pid, born, "MainThread");
		members[i].idle_ms = born;
	}
}

static void tell_tick(struct maker *m, struct random *random,
		      struct member *member, uint64_t at)
{
	if (member->idle_ms > at)
		return;
	if (member->idle_ms < at)
		maker_idle(m, member->thread, member->idle_ms,
			   at - member->idle_ms, maker_stack(m, RECEIVING),
			   WAIT_POLL);
	maker_busy(m, member->thread, at, 10, work(m, pick(random, 400)));
	member->idle_ms = at + 10;
}

static void tell_many(struct maker *m)
{
	struct member *members = calloc(MANY, sizeof(*members));
	struct random random = { 1 };
	unsigned running[2] = { 0, 1 };
	uint32_t root, image;

	if (!members)
		abort();
	maker_begin(m, "shop-1", PAST_UNIX_NS);
	root = maker_process(m, RECORD_NONE, 1000, 0);
	image = maker_image(m, root, 0, "gunicorn: master [shop]", "3.11.2");
	maker_idle(m, maker_thread(m, root, image, 1000, 0, "MainThread"), 0,
		   MANY_MS, maker_stack(m, RECEIVING), WAIT_TIME);
	tell_members(m, members, root);
	for (uint64_t at = 0; at < MANY_MS; at += 10)
		for (int k = 0; k < 2; k++) {
			if (!pick(&random, 30))
				running[k] = pick(&random, MANY);
			tell_tick(m, &random, &members[running[k]], at);
		}
	for (unsigned i = 0; i < MANY; i++) {
		if (members[i].idle_ms < MANY_MS)
			maker_idle(m, members[i].thread, members[i].idle_ms,
				   MANY_MS - members[i].idle_ms,
				   maker_stack(m, RECEIVING), WAIT_POLL);
		if (i % 70 == 3)
			maker_process_end(m, members[i].process, MANY_MS, 1,
					  256);
	}
	maker_flush(m, MANY_MS);
	free(members);
}

#define STACKS 100000u

static void tell_stacks(struct maker *m)
{
	struct random random = { 1 };
	char name[32], file[48];

	maker_begin(m, "host", PAST_UNIX_NS);
	for (unsigned p = 0; p < 8; p++) {
		int32_t pid = 100 + (int32_t)p;
		uint32_t process =
			maker_process(m, p ? 0 : RECORD_NONE, pid, 0);
		uint32_t image =
			maker_image(m, process, 0, "python3 wide.py", "3.11.2");
		uint32_t thread =
			maker_thread(m, process, image, pid, 0, "MainThread");

		for (unsigned i = 0; i < STACKS / 8; i++) {
			unsigned depth = 6 + pick(&random, 24);
			uint32_t stack = STACKS_EMPTY;

			for (unsigned k = 0; k < depth; k++) {
				unsigned f = k < 6 ? 3 * k + pick(&random, 3)
						   : pick(&random, 4000);

				(void)snprintf(name, sizeof(name),
					       "function_%u", f);
				(void)snprintf(file, sizeof(file),
					       "/srv/app/module_%u.py", f % 97);
				stack = maker_push(m, stack, file, name,
						   (int)(f % 300) + 1);
			}
			maker_busy(m, thread, (uint64_t)i * 10, 10, stack);
		}
	}
	maker_flush(m, STACKS / 8 * 10);
}

static int put(void *ctx, const char *bytes, size_t len)
{
	return fwrite(bytes, 1, len, ctx) == len ? 0 : -EIO;
}

/* Lines for any file of the made up program. */
static int source(void *ctx, const char *path, char **ret, size_t *ret_len)
{
	struct str text = { 0 };

	(void)ctx;
	if (strncmp(path, "/srv/", 5) != 0)
		return -ENOENT;
	for (int i = 1; i < 200; i++)
		str_printf(&text, "%*srow_%d = convert(rows[%d], \"<b>&\")\n",
			   i % 4 * 4, "", i, i);
	*ret = text.at;
	*ret_len = text.len;
	return text.failed ? -ENOMEM : 0;
}

static bool tell(struct maker *m, struct past *past, struct past *base,
		 const char *kind)
{
	if (!strcmp(kind, "empty")) {
		maker_begin(m, "host", PAST_UNIX_NS);
		maker_flush(m, 0);
	} else if (!strcmp(kind, "small")) {
		maker_small(m, "host", PAST_UNIX_NS);
	} else if (!strcmp(kind, "pool")) {
		tell_pool(m, "build-7", 1, 1);
	} else if (!strcmp(kind, "hosts")) {
		tell_pool(m, "build-7", 1, 1);
		past_take(past, m);
		memset(m, 0, sizeof(*m));
		tell_pool(m, "build-8", 5, 1);
	} else if (!strcmp(kind, "diff")) {
		tell_pool(m, "build-7", 1, 1);
		past_take(base, m);
		memset(m, 0, sizeof(*m));
		tell_pool(m, "build-7", 7, 3);
	} else if (!strcmp(kind, "many")) {
		tell_many(m);
	} else if (!strcmp(kind, "stacks")) {
		tell_stacks(m);
	} else {
		return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	struct out_options options = { .value = OUT_CPU,
				       .title = "python3 manage.py runjobs",
				       .source = source };
	struct past past = { 0 }, base = { 0 };
	struct maker m = { 0 };
	FILE *file = argc == 3 ? fopen(argv[2], "w") : NULL;
	int r = -EINVAL;

	if (file && tell(&m, &past, &base, argv[1])) {
		past_take(&past, &m);
		r = out_page(past.h, &QUERY_ALL, base.h, &options, put, file);
	}
	if (file && fclose(file))
		r = -EIO;
	past_free(&past);
	past_free(&base);
	return r ? 1 : 0;
}
