/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linux/clock.h"
#include "session_sample.h"

/*
 * Switch records that come while the run goes on. The first who asks for them on a
 * machine waits until every CPU has seen that they are wanted (kernel/events/core.c,
 * account_event: a grace period of RCU, ten milliseconds or so). A run that attaches
 * does not: it begins with run counts while another thread opens them.
 */
struct oncpu_opening {
	pthread_t thread;
	atomic_bool done;
	/* The thread's, until it is done. */
	struct oncpu *got;
	struct error refused;
	int r;
};

static void *open_main(void *ctx)
{
	struct oncpu_opening *opening = ctx;

	opening->r = oncpu_open(&opening->got, -1, &opening->refused);
	atomic_store(&opening->done, true);
	return NULL;
}

/* May we have them? Records of births cost no wait, and need the same right. */
static bool may_open(void)
{
	struct perfring ring;
	int r = perfring_open(&ring, PERFRING_TASKS, -1, 0, 0, NULL);

	if (r == 0)
		perfring_close(&ring);
	return r == 0;
}

int session_begin_oncpu(struct forkflame *ff)
{
	struct oncpu_opening *opening;

	if (ff->options.oncpu != FORKFLAME_ONCPU_AUTO || ff->dumping ||
	    ff->options.sampler == FORKFLAME_SAMPLER_KERNEL || !may_open())
		return session_open_oncpu(ff, 0);
	opening = calloc(1, sizeof(*opening));
	if (!opening)
		return error_set(&ff->err, -ENOMEM, "remember who runs");
	if (pthread_create(&opening->thread, NULL, open_main, opening) != 0) {
		free(opening);
		return session_open_oncpu(ff, 0);
	}
	ff->opening = opening;
	return 0;
}

/* Wait for the thread, and take what it has got. */
static void take(struct forkflame *ff)
{
	struct oncpu_opening *opening = ff->opening;

	(void)pthread_join(opening->thread, NULL);
	ff->opening = NULL;
	ff->oncpu = opening->got;
	if (opening->r < 0)
		(void)snprintf(ff->oncpu_reason, sizeof(ff->oncpu_reason),
			       "%.200s: %s", opening->refused.text,
			       strerror(-opening->r));
	free(opening);
}

int session_take_oncpu(struct forkflame *ff)
{
	int r = 0;

	if (!ff->opening || !atomic_load(&ff->opening->done))
		return 0;
	take(ff);
	if (ff->oncpu)
		r = session_watch_oncpu(ff);
	/* What was before the first record is not in them. */
	session_lose_sight(ff);
	return r;
}

uint64_t session_oncpu_ns(const struct forkflame *ff)
{
	return ff->opening ? clock_now() + NSEC_PER_MSEC : UINT64_MAX;
}

int session_watch_oncpu(struct forkflame *ff)
{
	const struct perfring *rings;
	size_t n = ff->oncpu ? oncpu_fds(ff->oncpu, &rings) : 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		r = loop_watch(ff->loop, rings[i].fd, TOKEN_ONCPU);
	return r;
}

void session_close_oncpu(struct forkflame *ff)
{
	if (ff->opening)
		take(ff);
	oncpu_close(ff->oncpu);
	ff->oncpu = NULL;
}
