/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "profile/recorder_internal.h"

/*
 * A new file defines everyone who lives, so that it says who was there even when
 * nothing else is told of them. Who has ended is forgotten, but for ancestors of
 * those who live: without them nobody could say whose tree they belong to.
 */

static void choose_processes(struct recorder *rec)
{
	for (size_t i = 0; i < rec->processes.n; i++)
		rec->processes.at[i].keep = !rec->processes.at[i].ended;
	/* Parents come before their children. */
	for (size_t i = rec->processes.n; i-- > 0;) {
		const struct known_process *child = &rec->processes.at[i];
		struct known_process *parent =
			recorder_known_process(rec, child->is.parent);

		if (child->keep && parent)
			parent->keep = true;
	}
}

static bool thread_lives(const struct recorder *rec,
			 const struct known_thread *thread)
{
	const struct known_process *process =
		recorder_known_process(rec, thread->is.process);

	return !thread->ended && process && !process->ended;
}

/* The newest image of each process, and those of living threads. */
static void choose_images(struct recorder *rec)
{
	for (size_t i = 0; i < rec->images.n; i++) {
		struct known_image *image = &rec->images.at[i];
		const struct known_process *process =
			recorder_known_process(rec, image->is.process);

		image->keep = process && process->keep &&
			      process->image == image->serial;
	}
	for (size_t i = 0; i < rec->threads.n; i++) {
		const struct known_thread *thread = &rec->threads.at[i];
		struct known_image *image =
			recorder_known_image(rec, thread->is.image);

		if (image && thread_lives(rec, thread))
			image->keep = true;
	}
}

/*
 * Forget the others. Threads first: whether they live is asked of their process.
 * What is kept moves to the front, in the same order.
 */
#define FORGET(all, index, kept)                               \
	do {                                                   \
		size_t n = 0;                                  \
                                                               \
		for (size_t i = 0; i < (all)->n; i++) {        \
			uint32_t serial = (all)->at[i].serial; \
                                                               \
			(index)->at[serial] = RECORD_NONE;     \
			if (!(kept))                           \
				continue;                      \
			(index)->at[serial] = (uint32_t)n;     \
			(all)->at[n++] = (all)->at[i];         \
		}                                              \
		(all)->n = n;                                  \
	} while (0)

static void forget(struct recorder *rec)
{
	choose_processes(rec);
	choose_images(rec);
	FORGET(&rec->threads, &rec->thread_at,
	       thread_lives(rec, &rec->threads.at[i]));
	FORGET(&rec->images, &rec->image_at, rec->images.at[i].keep);
	FORGET(&rec->processes, &rec->process_at, rec->processes.at[i].keep);
}

static void begin_numbers(struct recorder *rec)
{
	rec->string.of.n = 0;
	rec->frame.of.n = 0;
	rec->stack.of.n = 0;
	rec->string.next = 0;
	rec->frame.next = 0;
	rec->stack.next = 1;
	rec->next_process = 0;
	rec->next_image = 0;
	rec->next_thread = 0;
	rec->size = 0;
}

static void tell_again(struct recorder *rec)
{
	for (size_t i = 0; i < rec->processes.n; i++)
		recorder_put_process(rec, &rec->processes.at[i]);
	for (size_t i = 0; i < rec->images.n; i++) {
		recorder_put_image(rec, &rec->images.at[i]);
		if (rec->images.at[i].title != RECORD_NONE)
			recorder_put_image_title(rec, &rec->images.at[i]);
	}
	for (size_t i = 0; i < rec->threads.n; i++) {
		struct known_thread *thread = &rec->threads.at[i];

		recorder_put_thread(rec, thread);
		if (thread->name != RECORD_NONE)
			recorder_put_thread_name(rec, thread);
		if (thread->stands)
			recorder_put_stand(rec, thread);
	}
	for (size_t i = 0; i < rec->processes.n; i++)
		if (rec->processes.at[i].ended)
			recorder_put_process_end(rec, &rec->processes.at[i]);
}

void recorder_rotate(struct recorder *rec, uint64_t now_ns)
{
	/* What is pending is written in numbers of the file before. */
	if (rec->pending.n || rec->open.n)
		recorder_fail(rec, -EINVAL);
	if (rec->error)
		return;
	forget(rec);
	begin_numbers(rec);
	rec->time_ns = recorder_time(now_ns);
	rec->run.start_ns = now_ns;
	recorder_put_run(rec);
	tell_again(rec);
}
