/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROFILE_HISTORY_LOAD_H
#define PROFILE_HISTORY_LOAD_H

#include "base/map.h"
#include "profile/history.h"

/* The first reading of a file, between history_load.c and history_join.c. */

struct numbers VEC(uint32_t);

/* A thread of the file while it is read. Times are the run's. */
struct lane {
	uint64_t told_ns; /* until then it has weights, laid end to end */
	bool ended;
	bool stands;
	struct record_stand stand;
};

struct loading {
	struct history *h;
	struct past_run *run; /* the last of the history's */
	uint32_t number;      /* of the run: of the first file of it */
	bool begun;           /* RECORD_RUN has been read */

	/* The history's numbers by those of the file. */
	struct numbers strings, frames, processes, images;
	struct VEC(struct lane) lanes;

	/* What other files of the run tell of: numbers by what is the same. */
	struct map known_processes, known_images, known_threads;
};

/*
 * Give the file its place beside those that are there: its shift (those that
 * began later are moved), and, where another file is of the same run, the number
 * of that one and what is known of its members. Returns 0 or -ENOMEM.
 */
int loading_join(struct loading *l);
void loading_forget(struct loading *l);

/* What another file of the run told of already; HISTORY_NONE: it is new. */
uint32_t loading_known_process(const struct loading *l,
			       const struct past_process *process);
uint32_t loading_known_image(const struct loading *l,
			     const struct past_image *image);
uint32_t loading_known_thread(const struct loading *l,
			      const struct past_thread *thread);

#endif
