/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "profile/history_internal.h"
#include "profile/history_load.h"

/* Several files in one history: of other machines, of other runs, of one run. */

static uint64_t process_key(int32_t pid, uint64_t born_ns)
{
	return map_mix((uint32_t)pid, born_ns);
}

static uint64_t image_key(uint32_t process, uint64_t at_ns)
{
	return map_mix(process, at_ns);
}

static uint64_t thread_key(uint32_t process, int32_t tid, uint64_t born_ns)
{
	return map_mix((uint64_t)process << 32 | (uint32_t)tid, born_ns);
}

/* Make what the other files of the run tell of known. */
static int know(struct loading *l)
{
	const struct history *h = l->h;

	for (uint32_t i = 0; i < h->processes.n; i++) {
		const struct past_process *p = &h->processes.at[i];

		if (p->run == l->number &&
		    !map_put(&l->known_processes,
			     process_key(p->pid, p->born_ns), i))
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < h->images.n; i++) {
		const struct past_image *image = &h->images.at[i];

		if (h->processes.at[image->process].run == l->number &&
		    !map_put(&l->known_images,
			     image_key(image->process, image->at_ns), i))
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < h->threads.n; i++) {
		const struct past_thread *t = &h->threads.at[i];

		if (h->processes.at[t->process].run == l->number &&
		    !map_put(&l->known_threads,
			     thread_key(t->process, t->tid, t->born_ns), i))
			return -ENOMEM;
	}
	return 0;
}

/* A file that began earlier than all before: these move later by @by_ns. */
static void move_later(struct history *h, uint64_t by_ns)
{
	for (size_t i = 0; i < h->runs.n; i++) {
		struct past_run *run = &h->runs.at[i];

		run->shift_ns = history_time(run->shift_ns, by_ns);
		run->end_ns = history_time(run->end_ns, by_ns);
	}
	for (size_t i = 0; i < h->processes.n; i++) {
		struct past_process *p = &h->processes.at[i];

		p->born_ns = history_time(p->born_ns, by_ns);
		p->left_ns = history_time(p->left_ns, by_ns);
	}
	for (size_t i = 0; i < h->images.n; i++)
		h->images.at[i].at_ns =
			history_time(h->images.at[i].at_ns, by_ns);
	for (size_t i = 0; i < h->threads.n; i++) {
		struct past_thread *t = &h->threads.at[i];

		t->born_ns = history_time(t->born_ns, by_ns);
		t->end_ns = history_time(t->end_ns, by_ns);
	}
	for (size_t i = 0; i < h->notes.n; i++)
		h->notes.at[i].at_ns =
			history_time(h->notes.at[i].at_ns, by_ns);
}

/* Where the file stands in the history's time. One that does not tell its start
 * is taken to have begun first. */
static void place(struct loading *l)
{
	uint64_t unix_ns = l->run->run.unix_ns;
	size_t last = l->h->runs.n - 1;

	for (size_t i = 0; i < last && unix_ns; i++) {
		const struct past_run *run = &l->h->runs.at[i];
		uint64_t first = run->run.unix_ns - run->shift_ns;

		if (!run->run.unix_ns)
			continue;
		if (unix_ns < first) {
			l->h->runs.n--; /* it has no times yet */
			move_later(l->h, first - unix_ns);
			l->h->runs.n++;
		} else {
			l->run->shift_ns = history_time(unix_ns - first, 0);
		}
		return;
	}
}

int loading_join(struct loading *l)
{
	const struct record_run *run = &l->run->run;

	place(l);
	for (uint32_t i = 0; i + 1 < l->h->runs.n && run->unix_ns; i++) {
		const struct record_run *other = &l->h->runs.at[i].run;

		if (other->unix_ns != run->unix_ns || other->host != run->host)
			continue;
		l->number = i;
		return know(l);
	}
	return 0;
}

void loading_forget(struct loading *l)
{
	map_free(&l->known_processes);
	map_free(&l->known_images);
	map_free(&l->known_threads);
}

uint32_t loading_known_process(const struct loading *l,
			       const struct past_process *process)
{
	const struct past_process *p;
	uint64_t i;

	if (!map_get(&l->known_processes,
		     process_key(process->pid, process->born_ns), &i))
		return HISTORY_NONE;
	p = &l->h->processes.at[i];
	return p->pid == process->pid && p->born_ns == process->born_ns
		       ? (uint32_t)i
		       : HISTORY_NONE;
}

uint32_t loading_known_image(const struct loading *l,
			     const struct past_image *image)
{
	const struct past_image *known;
	uint64_t i;

	if (!map_get(&l->known_images, image_key(image->process, image->at_ns),
		     &i))
		return HISTORY_NONE;
	known = &l->h->images.at[i];
	return known->process == image->process &&
			       known->at_ns == image->at_ns &&
			       known->started == image->started
		       ? (uint32_t)i
		       : HISTORY_NONE;
}

uint32_t loading_known_thread(const struct loading *l,
			      const struct past_thread *thread)
{
	const struct past_thread *t;
	uint64_t i;

	if (!map_get(&l->known_threads,
		     thread_key(thread->process, thread->tid, thread->born_ns),
		     &i))
		return HISTORY_NONE;
	t = &l->h->threads.at[i];
	return t->process == thread->process && t->tid == thread->tid &&
			       t->born_ns == thread->born_ns
		       ? (uint32_t)i
		       : HISTORY_NONE;
}
