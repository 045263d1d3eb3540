/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LINUX_EVRING_H
#define LINUX_EVRING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/event.h"

/*
 * Events from one thread to another, without a lock: one producer, one
 * consumer. All but one of its places are for events, the last for a LOST.
 * When it is full, the producer does not wait: the event is dropped and the
 * consumer gets one EVENT_LOST in its place, after those before it.
 */
struct evring;

/* @room  events, a power of two. NULL when memory is gone. */
struct evring *evring_new(size_t room);
void evring_free(struct evring *ring);

/* Producer. Returns false when it was dropped. */
bool evring_put(struct evring *ring, const struct event *event);

/* Consumer. Returns false when there is none. */
bool evring_get(struct evring *ring, struct event *ret);

#endif
