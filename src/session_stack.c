/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "session_internal.h"

/* What was read of a thread, as a stack: names, and marks for what is not there. */

/*
 * A frame that stands for those that are missing between the two ends. Of their
 * number two digits count: a frame more or less makes no other place of it.
 */
static struct frame mark_of(struct forkflame *ff, size_t left_out)
{
	size_t step = 1;
	char text[64];
	int len;

	while (left_out / step >= 100)
		step *= 10;
	len = snprintf(text, sizeof(text), "[%zu%s frames left out]",
		       left_out / step * step, step > 1 ? " or more" : "");
	return (struct frame){
		.function = strtab_id(ff->strings, text, (size_t)len),
	};
}

/* Of two interpreters in a process, which one the frames above are of. */
static struct frame mark_python(struct forkflame *ff, const struct runtime *rt)
{
	char text[64];
	int len = snprintf(text, sizeof(text), "[Python %.24s]", rt->version);

	return (struct frame){
		.function = strtab_id(ff->strings, text, (size_t)len),
	};
}

uint32_t thread_decode(struct forkflame *ff, struct thread *t, size_t n,
		       bool cut)
{
	const struct image *image = process_image(t->process);
	size_t frames = 0;

	for (size_t i = 0; i < n; i++) {
		bool second = i >= ff->second_from && i < ff->second_to;
		bool next = i + 1 >= ff->second_from && i + 1 < ff->second_to;
		struct frame frame = codecache_frame(
			second ? image->second_codes : image->codes, ff->ids[i],
			&ff->raw[i]);

		if (t->left_out && i == t->mark_at)
			ff->frames[frames++] = mark_of(ff, t->left_out);
		/* A trampoline of the interpreter's own has no name. */
		if (frame.function)
			ff->frames[frames++] = frame;
		if (image->second_codes && (i + 1 == n || second != next))
			ff->frames[frames++] = mark_python(
				ff, second ? &image->second_rt : &image->rt);
	}
	if (cut)
		ff->frames[frames++] = (struct frame){ .function = ff->deeper };
	return stacks_put(ff->stacks, ff->frames, frames);
}
