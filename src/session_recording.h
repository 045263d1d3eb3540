/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SESSION_RECORDING_H
#define SESSION_RECORDING_H

#include "session_internal.h"

/* session_recording.c: what happened, told to the recorder. */

/* Tell the present image of @p, unless it was told, or is not known for good. */
void record_image(struct forkflame *ff, struct process *p);

/* Tell its title, if its image has been told. */
void record_title(struct forkflame *ff, struct process *p);

/* A slice of a thread's life. */
void record_slice(struct forkflame *ff, struct thread *t,
		  const struct charge *charge);

/* The thread has ended, or is let go. */
void record_thread_end(struct forkflame *ff, struct thread *t, uint64_t end_ns);

/* What was held back is none of a passer-by: tell it. */
void record_held(struct forkflame *ff, struct process *p);

/* It has left the tree, or the run ends. */
void record_process_end(struct forkflame *ff, struct process *p,
			uint64_t end_ns);

void record_note(struct forkflame *ff, enum note_kind kind, uint64_t value);

/* The first words, if a recording is wanted. 0 or -errno. */
int session_begin_recording(struct forkflame *ff);

/* Hand on what was told, if it is time; at the end in any case. 0 or -errno. */
int session_flush(struct forkflame *ff, bool end);

/* The last words. Returns likewise. */
int session_end_recording(struct forkflame *ff);

/* session_summary.c: the summary, a JSON object; with the members or without. */
void session_summary_json(const struct forkflame *ff,
			  enum forkflame_value value, bool members,
			  struct str *to);

#endif
