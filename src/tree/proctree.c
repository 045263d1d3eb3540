/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/proctree.h"

#include <errno.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/nsec.h"
#include "tree/roster.h"

/*
 * A member's life, and who moves it on:
 *
 *	          on_end              proctree_gone, on_fork (number reused),
 *	ALIVE -----------> ENDING     proctree_snapshot (missing)
 *	      <-----------            ALIVE or ENDING ------------------> LEFT
 *	          on_exec
 *
 * The kernel queues the events of one process in the order of their happening,
 * but three things are not as one would think:
 *  - EXIT is sent after the process can be reaped (exit_notify comes first), so
 *    the FORK of the next owner of its number may stand before it;
 *  - EXIT is that of the leader; the process may live on, or exec from another
 *    of its threads (EXIT and then EXEC, of the same number);
 *  - snapshots and pidfds are faster than the queue: what they told may be told
 *    again by an event that is older.
 * Times settle them: the clock of the events is one for all CPUs, so a child's
 * FORK has an earlier time than all else of it, whatever the order of arrival.
 */

uint32_t proctree_add(struct proctree *tree, pid_t pid, uint64_t start,
		      uint64_t born_ns, bool born_seen)
{
	struct node as = { .m = { .parent = PROCTREE_NONE,
				  .pid = pid,
				  .start = start,
				  .born_ns = born_ns,
				  .born_seen = born_seen },
			   .known_ns = born_ns };
	struct node *node = roster_living(tree, pid);

	if (node && node->m.start && start && node->m.start != start) {
		roster_leave(tree, node, born_ns);
		node = NULL;
	}
	if (node) {
		if (!node->m.start)
			node->m.start = start;
		return node->m.serial;
	}
	return roster_join(tree, &as, born_ns) ? tree->count - 1
					       : PROCTREE_NONE;
}

/* The member that had number @pid at a time, whether it has left since or not. */
static struct node *owner(const struct proctree *tree, pid_t pid,
			  uint64_t time_ns)
{
	struct node *node = roster_newest(tree, pid);

	while (node && time_ns < node->since_ns)
		node = roster_get(tree, node->older);
	if (node && roster_left(node) && time_ns > node->m.left_ns)
		return NULL;
	return node;
}

/* Does the FORK @e tell of @node, or of someone before it? */
static bool is_old_news(const struct proctree *tree, const struct node *node,
			const struct event *e)
{
	if (e->time_ns < node->known_ns)
		return true;
	if (e->time_ns == node->known_ns)
		return !node->told || node->parent_pid == e->parent;
	/* A root's, by the stranger who started it. */
	return !roster_left(node) && node->m.parent == PROCTREE_NONE &&
	       !node->told && e->time_ns - node->known_ns <= ROSTER_SLACK_NS &&
	       !owner(tree, e->parent, e->time_ns);
}

/* The FORK @e of @node comes after it was found by other means. */
static void tell_birth(struct node *node, const struct event *e)
{
	struct member *m = &node->m;

	/* Of several, the last is its own: the others are of owners before it. */
	if (e->time_ns < node->since_ns ||
	    (node->told && e->time_ns == m->born_ns))
		return;
	node->told = true;
	node->since_ns = e->time_ns;
	node->parent_pid = e->parent;
	m->fork_tid = e->parent_tid;
	m->born_ns = e->time_ns;
	m->born_seen = true;
	m->found_late = false;
	if (m->state == MEMBER_ENDING && m->ending_ns < e->time_ns) {
		m->state = MEMBER_ALIVE;
		m->has_status = false;
		m->ending_ns = 0;
	}
}

static int on_fork(struct proctree *tree, const struct event *e)
{
	struct node *old = roster_newest(tree, e->pid);
	struct node *parent;
	struct node as;

	if (e->pid <= 0 || e->pid == e->parent)
		return 0;
	if (old && is_old_news(tree, old, e)) {
		tell_birth(old, e);
		return 0;
	}
	if (old && !roster_left(old))
		roster_leave(tree, old,
			     old->m.ending_ns ? old->m.ending_ns : e->time_ns);
	/* A snapshot saw it go later than it did: what follows is another's. */
	if (old && old->m.left_ns > e->time_ns)
		old->m.left_ns = e->time_ns;
	parent = owner(tree, e->parent, e->time_ns);
	if (!parent)
		return 0;
	as = (struct node){ .m = { .parent = parent->m.serial,
				   .pid = e->pid,
				   .fork_tid = e->parent_tid,
				   .born_ns = e->time_ns,
				   .born_seen = true },
			    .known_ns = e->time_ns,
			    .since_ns = e->time_ns,
			    .parent_pid = e->parent,
			    .told = true };
	return roster_join(tree, &as, e->time_ns) ? 0 : -ENOMEM;
}

static int on_exec(struct proctree *tree, const struct event *e)
{
	struct node *node = owner(tree, e->pid, e->time_ns);
	struct member *m;

	if (!node)
		return 0;
	m = &node->m;
	if (m->execs && e->time_ns <= node->exec_ns)
		return 0; /* a repetition */
	if (!roster_left(node)) {
		if (!roster_reserve(tree, 1))
			return -ENOMEM;
		m->state = MEMBER_ALIVE;
		roster_push(tree, CHANGE_EXEC, m->serial, e->time_ns);
	}
	m->execs++;
	node->exec_ns = e->time_ns;
	m->has_status = false;
	m->ending_ns = 0;
	return 0;
}

static int on_end(struct proctree *tree, const struct event *e)
{
	struct node *node = owner(tree, e->pid, e->time_ns);
	struct member *m;

	if (!node)
		return 0;
	m = &node->m;
	/* Of a stranger before it; of a leader that an exec has replaced since. */
	if (e->time_ns < m->born_ns || (m->execs && e->time_ns < node->exec_ns))
		return 0;
	if (m->has_status && e->time_ns <= m->ending_ns)
		return 0; /* a repetition */
	if (!roster_left(node)) {
		if (!roster_reserve(tree, 1))
			return -ENOMEM;
		m->state = MEMBER_ENDING;
		roster_push(tree, CHANGE_ENDING, m->serial, e->time_ns);
	}
	m->has_status = true;
	m->status = e->status;
	m->ending_ns = e->time_ns;
	return 0;
}

int proctree_event(struct proctree *tree, const struct event *event)
{
	int r = 0;

	switch (event->kind) {
	case EVENT_NONE:
		break;
	case EVENT_FORK:
		r = on_fork(tree, event);
		break;
	case EVENT_EXEC:
		r = on_exec(tree, event);
		break;
	case EVENT_EXIT:
		r = on_end(tree, event);
		break;
	case EVENT_LOST:
		return roster_rescan(tree, event->time_ns, 0);
	}
	return r < 0 ? roster_rescan(tree, event->time_ns, r) : 0;
}

/* What a snapshot has to be told apart by, in all the steps below. */
struct snapshot {
	const struct procstat *procs;
	size_t n;
	uint64_t taken_ns;
	uint64_t now_ns;
	bool first;
	struct map children; /* of a number: the first of them, in procs */
	size_t *next;        /* the next child of the same; n: none */
};

/* One process of it and the member with its number. */
static void compare(struct proctree *tree, const struct snapshot *s,
		    struct node *node, const struct procstat *proc)
{
	bool later = node->m.born_ns > s->taken_ns;
	uint64_t end = s->now_ns;

	if (node->m.start && proc->start && node->m.start != proc->start) {
		if (later)
			return; /* its owner before */
		if (proc->born_ns && proc->born_ns < end)
			end = proc->born_ns;
		roster_leave(tree, node, end);
		return;
	}
	if (!node->m.start) {
		/* Its owner before? A later snapshot will tell. */
		if (later && node->told)
			return;
		node->m.start = proc->start;
	}
	node->round = tree->round;
}

/* Mark the members that it shows; those whose number is another's leave. */
static void snapshot_compare(struct proctree *tree, const struct snapshot *s)
{
	tree->round++;
	for (size_t i = 0; i < s->n; i++) {
		struct node *node = roster_living(tree, s->procs[i].pid);

		if (node)
			compare(tree, s, node, &s->procs[i]);
	}
}

static void snapshot_drop(struct proctree *tree, const struct snapshot *s)
{
	uint32_t slot = tree->first;

	while (slot != ROSTER_NONE) {
		struct node *node = &tree->nodes.at[slot];

		slot = node->next;
		if (node->round != tree->round &&
		    node->m.born_ns <= s->taken_ns)
			roster_leave(tree, node, s->now_ns);
	}
}

/* Who is whose child, of those that are not members. */
static int snapshot_sort(const struct proctree *tree, struct snapshot *s)
{
	if (s->n >= SIZE_MAX / sizeof(*s->next))
		return -ENOMEM;
	s->next = malloc((s->n + 1) * sizeof(*s->next));
	if (!s->next)
		return -ENOMEM;
	/* From the end, so that children come in the order of the snapshot. */
	for (size_t i = s->n; i-- > 0;) {
		const struct procstat *proc = &s->procs[i];
		uint64_t younger = s->n;

		if (proc->pid <= 0 || roster_living(tree, proc->pid) ||
		    roster_is_buried(tree, proc))
			continue;
		(void)map_get(&s->children, (uint64_t)proc->parent, &younger);
		s->next[i] = (size_t)younger;
		if (!map_put(&s->children, (uint64_t)proc->parent, i))
			return -ENOMEM;
	}
	return 0;
}

static int adopt(struct proctree *tree, const struct snapshot *s,
		 const struct member *parent, const struct procstat *proc)
{
	bool dated = proc->born_ns && proc->born_ns <= s->now_ns;
	uint64_t since = nsec_since(proc->born_ns, ROSTER_SLACK_NS);
	struct node as = { .m = { .parent = parent->serial,
				  .pid = proc->pid,
				  .start = proc->start,
				  .born_ns = dated ? proc->born_ns : s->now_ns,
				  .born_seen = dated && !s->first,
				  .found_late = !s->first },
			   .known_ns = s->now_ns,
			   .since_ns = dated ? since : 0,
			   .parent_pid = proc->parent,
			   .round = tree->round };

	return roster_join(tree, &as, s->now_ns) ? 0 : -ENOMEM;
}

/* The list of the living grows while it is walked: children's children too. */
static int snapshot_adopt(struct proctree *tree, const struct snapshot *s)
{
	for (uint32_t slot = tree->first; slot != ROSTER_NONE;
	     slot = tree->nodes.at[slot].next) {
		struct member parent = tree->nodes.at[slot].m;
		uint64_t child = s->n;

		/* What is said of the children of one not shown is not its. */
		if (tree->nodes.at[slot].round != tree->round)
			continue;
		(void)map_get(&s->children, (uint64_t)parent.pid, &child);
		for (; child < s->n; child = s->next[child]) {
			/* Twice in the snapshot: the first counts. */
			if (roster_living(tree, s->procs[child].pid))
				continue;
			if (adopt(tree, s, &parent, &s->procs[child]) < 0)
				return -ENOMEM;
		}
	}
	return 0;
}

int proctree_snapshot(struct proctree *tree, const struct procstat *procs,
		      size_t n, uint64_t taken_ns, uint64_t now_ns, bool first)
{
	struct snapshot s = { .procs = procs,
			      .n = n,
			      .taken_ns = taken_ns,
			      .now_ns = now_ns,
			      .first = first };
	int r;

	snapshot_compare(tree, &s);
	snapshot_drop(tree, &s);
	r = snapshot_sort(tree, &s);
	if (r < 0)
		goto out;
	r = snapshot_adopt(tree, &s);
	if (r < 0)
		goto out;
	roster_bury(tree, procs, n, taken_ns);
out:
	map_free(&s.children);
	free(s.next);
	return r < 0 ? roster_rescan(tree, now_ns, r) : 0;
}

void proctree_gone(struct proctree *tree, uint32_t serial, uint64_t now_ns)
{
	struct node *node = roster_get(tree, serial);

	if (node && !roster_left(node))
		roster_leave(tree, node, now_ns);
}

void proctree_identify(struct proctree *tree, uint32_t serial, uint64_t start)
{
	struct node *node = roster_get(tree, serial);

	if (node)
		node->m.start = start;
}
