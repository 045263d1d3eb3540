/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `head` counts what was put, `tail` what was taken; both go around freely, and
 * their difference is what waits. The last free slot is never given to an
 * ordinary event: it is for the LOST that tells of the first one dropped.
 *
 * While that LOST is the newest entry, more events may be dropped without a
 * word: the consumer has not read it yet, so whatever it then does to find out what
 * was lost happens after them.
 */
#include "linux/evring.h"

#include <stdatomic.h>
#include <stdlib.h>

#define CACHE_LINE 64

struct evring {
	struct event *slots;
	size_t room;
	char apart1[CACHE_LINE];
	atomic_size_t head;  /* written by the producer */
	bool newest_is_lost; /* the producer's own */
	char apart2[CACHE_LINE];
	atomic_size_t tail; /* written by the consumer */
};

struct evring *evring_new(size_t room)
{
	struct evring *ring = NULL;

	/* One for an event, one for a LOST; a power of two. */
	if (room < 2 || (room & (room - 1)))
		return NULL;
	ring = calloc(1, sizeof(*ring));
	if (!ring)
		return NULL;
	ring->slots = calloc(room, sizeof(*ring->slots));
	if (!ring->slots) {
		free(ring);
		return NULL;
	}
	ring->room = room;
	return ring;
}

void evring_free(struct evring *ring)
{
	if (!ring)
		return;
	free(ring->slots);
	free(ring);
}

bool evring_put(struct evring *ring, const struct event *event)
{
	size_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
	size_t tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
	struct event *slot = &ring->slots[head & (ring->room - 1)];
	bool fits = head - tail < ring->room - 1;

	if (!fits && ring->newest_is_lost)
		return event->kind == EVENT_LOST;
	if (fits)
		*slot = *event;
	else
		*slot = (struct event){ .kind = EVENT_LOST,
					.time_ns = event->time_ns };
	ring->newest_is_lost = slot->kind == EVENT_LOST;
	atomic_store_explicit(&ring->head, head + 1, memory_order_release);
	return fits || event->kind == EVENT_LOST;
}

bool evring_get(struct evring *ring, struct event *ret)
{
	size_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
	size_t head = atomic_load_explicit(&ring->head, memory_order_acquire);

	if (tail == head)
		return false;
	*ret = ring->slots[tail & (ring->room - 1)];
	atomic_store_explicit(&ring->tail, tail + 1, memory_order_release);
	return true;
}
