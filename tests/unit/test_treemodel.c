/* SPDX-License-Identifier: Apache-2.0 */
#include "fakeworld.h"

/*
 * The tree against a machine that is made up. A caller with pidfds does what the
 * contract asks for; then the tree must hold who is really alive.
 */

#define FORGET_AFTER 64 /* events */

/* --- the caller ------------------------------------------------------------ */

/* The process that a member stands for, as its birth or its start tells. */
static size_t truth_of(const struct world *w, const struct member *m)
{
	for (size_t i = w->procs.n; i-- > 0;) {
		const struct proc *p = &w->procs.at[i];

		if (p->pid == m->pid && (m->start ? p->born_ns == m->start
						  : p->born_ns == m->born_ns))
			return i;
	}
	fail_msg("a member that never was: pid %d", (int)m->pid);
	return 0;
}

static void joined(struct world *w, uint32_t serial)
{
	const struct member *m = proctree_member(w->tree, serial);
	struct held held = { .proc = SIZE_MAX, .joined = true };
	size_t truth, now;

	assert_int_equal(serial, w->held.n);
	assert_non_null(m);
	assert_true(m->parent == PROCTREE_NONE || m->parent < serial);
	truth = truth_of(w, m);
	w->procs.at[truth].joined++;
	assert_int_equal(w->procs.at[truth].joined, 1);
	if (!w->lossy && m->parent != PROCTREE_NONE && !m->found_late) {
		const struct member *parent =
			proctree_member(w->tree, m->parent);

		assert_non_null(parent);
		assert_int_equal(truth_of(w, parent),
				 w->procs.at[truth].forker);
	}
	/* Its pidfd and start time, unless another has the number now. */
	now = owner(w, m->pid);
	if (now == truth && is_alive(&w->procs.at[now])) {
		held.proc = now;
		proctree_identify(w->tree, serial, w->procs.at[now].born_ns);
	}
	assert_true(vec_push(&w->held, held));
	if (held.proc == SIZE_MAX)
		proctree_gone(w->tree, serial, w->now_ns);
}

static void has_left(struct world *w, uint32_t serial)
{
	struct held *held = &w->held.at[serial];

	assert_true(held->joined);
	assert_false(held->left);
	held->left = true;
	held->left_at = w->delivered;
}

static void look_at_pidfd(struct world *w, uint32_t serial)
{
	const struct held *held = &w->held.at[serial];

	if (!held->left &&
	    (held->proc == SIZE_MAX || !is_alive(&w->procs.at[held->proc])))
		proctree_gone(w->tree, serial, w->now_ns);
}

/* Forget those that left long ago; their status must have come by now. */
static void forget(struct world *w)
{
	for (size_t i = w->oldest; i < w->held.n; i++) {
		struct held *held = &w->held.at[i];

		if (!held->left || held->forgotten ||
		    w->delivered - held->left_at < FORGET_AFTER)
			continue;
		held->forgotten = true;
		if (!w->lossy && held->proc != SIZE_MAX) {
			const struct member *m =
				proctree_member(w->tree, (uint32_t)i);

			assert_non_null(m);
			if (m->has_status)
				assert_int_equal(
					m->status,
					w->procs.at[held->proc].status);
		}
		proctree_forget(w->tree, (uint32_t)i);
		assert_null(proctree_member(w->tree, (uint32_t)i));
	}
	while (w->oldest < w->held.n && w->held.at[w->oldest].forgotten)
		w->oldest++;
}

static bool shown(const struct world *w, const struct proc *p)
{
	return is_alive(p) || (w->zombies && p->life == ZOMBIE);
}

static void snapshot(struct world *w)
{
	struct VEC(struct procstat) stats = { 0 };
	bool more = true;

	for (size_t i = 0; i < w->procs.n; i++) {
		const struct proc *p = &w->procs.at[i];
		struct procstat stat = { .pid = p->pid,
					 .parent = w->procs.at[p->parent].pid,
					 .start = p->born_ns,
					 .born_ns = p->born_ns };
		size_t at;

		if (!shown(w, p))
			continue;
		assert_true(vec_push(&stats, stat));
		/* In no order. */
		at = chance(w, stats.n);
		stats.at[stats.n - 1] = stats.at[at];
		stats.at[at] = stat;
	}
	assert_int_equal(proctree_snapshot(w->tree, stats.at, stats.n,
					   w->now_ns, w->now_ns, false),
			 0);
	vec_free(&stats);
	/* What it can tell: the children of those that are known. */
	while (more) {
		more = false;
		for (size_t i = ROOT + 1; i < w->procs.n; i++) {
			struct proc *p = &w->procs.at[i];

			if (p->known || !shown(w, p) ||
			    !w->procs.at[p->parent].known)
				continue;
			p->known = more = true;
		}
	}
}

/* Returns true when a snapshot is wanted. */
static bool react(struct world *w)
{
	bool rescan = false;
	struct change c;

	while (proctree_next(w->tree, &c)) {
		switch (c.kind) {
		case CHANGE_JOINED:
			joined(w, c.serial);
			break;
		case CHANGE_ENDING:
			look_at_pidfd(w, c.serial);
			break;
		case CHANGE_LEFT:
			has_left(w, c.serial);
			break;
		case CHANGE_RESCAN:
			rescan = true;
			break;
		case CHANGE_EXEC:
			break;
		}
	}
	return rescan;
}

/* Are there two lives of one number in what was not told yet? */
static bool reused_unread(const struct world *w)
{
	for (size_t i = w->head; i < w->queue.n; i++) {
		const struct event *a = &w->queue.at[i].event;

		for (size_t k = i + 1; k < w->queue.n; k++) {
			const struct event *b = &w->queue.at[k].event;

			if (a->kind == EVENT_FORK && b->kind == EVENT_FORK &&
			    a->pid == b->pid && a->time_ns != b->time_ns)
				return true;
		}
	}
	return false;
}

static void deliver(struct world *w, size_t upto)
{
	bool rescan = false;

	for (; w->head < upto; w->head++) {
		const struct news *news = &w->queue.at[w->head];
		struct proc *p = &w->procs.at[news->proc];

		assert_int_equal(proctree_event(w->tree, &news->event), 0);
		if (news->event.kind == EVENT_FORK &&
		    w->procs.at[p->forker].known)
			p->known = true;
		w->delivered++;
		rescan |= react(w);
		if (w->held.n && !chance(w, 4))
			look_at_pidfd(w, (uint32_t)chance(w, w->held.n));
		if (rescan)
			upto = w->queue.n; /* drain */
	}
	/* Also now and then without being asked, and without a drain. */
	if (rescan || (!chance(w, 20) && !reused_unread(w))) {
		snapshot(w);
		(void)react(w);
	}
	forget(w);
}

/* --- the tests --------------------------------------------------------------- */

static void agree(struct world *w)
{
	uint32_t alive = 0;

	for (uint32_t i = 0; i < w->held.n; i++)
		look_at_pidfd(w, i);
	assert_false(react(w));
	for (size_t i = ROOT; i < w->procs.n; i++) {
		const struct proc *p = &w->procs.at[i];
		uint32_t serial;

		if (!w->lossy)
			assert_int_equal(p->known, p->ours);
		if (!is_alive(p) || !p->known)
			continue;
		alive++;
		serial = proctree_find(w->tree, p->pid);
		assert_int_not_equal(serial, PROCTREE_NONE);
		assert_int_equal(proctree_member(w->tree, serial)->start,
				 p->born_ns);
	}
	assert_int_equal(proctree_alive(w->tree), alive);
	assert_int_equal(proctree_count(w->tree), w->held.n);
}

/* Every descendant joined once, nobody else did. */
static void none_missed(const struct world *w)
{
	for (size_t i = ROOT; i < w->procs.n; i++)
		assert_int_equal(w->procs.at[i].joined, w->procs.at[i].ours);
}

static void begin(struct world *w, uint64_t seed, pid_t pids, bool lossy)
{
	struct proc init = { .pid = 1 };
	struct proc root = {
		.pid = 2, .born_ns = 90, .ours = true, .known = true
	};

	*w = (struct world){ .random = seed * 0x9e3779b97f4a7c15ull,
			     .now_ns = 100,
			     .pids = pids,
			     .next_pid = lossy ? 3 : 0,
			     .zombies = seed & 1,
			     .lossy = lossy,
			     .tree = proctree_new() };
	assert_non_null(w->tree);
	assert_true(vec_push(&w->procs, init));
	assert_true(vec_push(&w->procs, root));
	assert_int_equal(proctree_add(w->tree, 2, 90, 90, false), 0);
	(void)react(w);
}

static void end(struct world *w)
{
	proctree_free(w->tree);
	vec_free(&w->procs);
	vec_free(&w->queue);
	vec_free(&w->held);
}

static void live(uint64_t seed, pid_t pids, bool lossy)
{
	struct world w;

	begin(&w, seed, pids, lossy);
	for (int turn = 0; turn < 60; turn++) {
		size_t from = w.queue.n;
		uint64_t steps = 1 + chance(&w, 12);

		while (steps--)
			step(&w);
		disturb(&w, from);
		if (lossy && !chance(&w, 6)) {
			drop(&w, from);
			deliver(&w, w.queue.n);
			agree(&w);
		}
		deliver(&w, w.head + chance(&w, w.queue.n - w.head + 1));
	}
	deliver(&w, w.queue.n);
	agree(&w);
	if (!lossy)
		none_missed(&w);
	end(&w);
}

static void misses_nobody_though_news_come_twice_and_mixed_up(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 150; seed++)
		live(seed, 40, false);
}

static void finds_again_after_a_loss_all_that_a_snapshot_can_tell(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 150; seed++)
		live(seed, 150, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			misses_nobody_though_news_come_twice_and_mixed_up),
		cmocka_unit_test(
			finds_again_after_a_loss_all_that_a_snapshot_can_tell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
