/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_STOPPING_H
#define CLI_STOPPING_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

#include "forkflame/forkflame.h"

/*
 * How a run is ended from outside, and what its command ended with.
 *
 * Signals are waited for by a thread of their own, so that no handler needs to
 * know the run: the first INT, TERM or HUP ends it, the second ends forkflame at
 * once. Either way the kernel lets go of whatever is held.
 */
struct stopping {
	struct forkflame *ff;
	void (*on_usr1)(void *ctx); /* in that thread; NULL: USR1 is not ours */
	void *ctx;
	sigset_t set;    /* the signals that are waited for */
	sigset_t before; /* the mask that the command gets */
	int first;       /* the signal that ended it; 0: none */
	pthread_t waiter;
	bool waits;
};

/* Hold the signals back, before anything is started. */
void stopping_block(struct stopping *s);

/* Wait for them, for s->ff; and no more. 0 or a negative errno. */
int stopping_begin(struct stopping *s);
void stopping_end(struct stopping *s);

/*
 * The command's end decides about ours. It may outlive the run; after Ctrl-C,
 * which it got as well, and after the duration it is waited for.
 *
 * Returns its status, minus the signal that it died of; @status where it goes on.
 */
int stopping_status(struct stopping *s, int status);

#endif
