/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/roster.h"

#include <stdlib.h>
#include <string.h>

/* Those that left, remembered beyond their records: never more than this. */
#define TOMBS_MAX 65536u

struct proctree *proctree_new(void)
{
	struct proctree *tree = calloc(1, sizeof(*tree));

	if (tree)
		tree->unused = tree->first = tree->last = ROSTER_NONE;
	return tree;
}

void proctree_free(struct proctree *tree)
{
	if (!tree)
		return;
	vec_free(&tree->nodes);
	vec_free(&tree->changes);
	map_free(&tree->by_serial);
	map_free(&tree->by_pid);
	map_free(&tree->tombs);
	free(tree);
}

static struct node *lookup(const struct proctree *tree, const struct map *map,
			   uint64_t key)
{
	uint64_t slot;

	return map_get(map, key, &slot) ? &tree->nodes.at[slot] : NULL;
}

struct node *roster_get(const struct proctree *tree, uint32_t serial)
{
	return lookup(tree, &tree->by_serial, serial);
}

struct node *roster_newest(const struct proctree *tree, pid_t pid)
{
	return lookup(tree, &tree->by_pid, (uint64_t)pid);
}

struct node *roster_living(const struct proctree *tree, pid_t pid)
{
	struct node *node = roster_newest(tree, pid);

	return node && node->m.state != MEMBER_LEFT ? node : NULL;
}

bool roster_reserve(struct proctree *tree, size_t more)
{
	size_t waiting = tree->changes.n - tree->head;

	/* Moves no more than were taken since it last moved. */
	if (tree->head > waiting) {
		memmove(tree->changes.at, tree->changes.at + tree->head,
			waiting * sizeof(*tree->changes.at));
		tree->changes.n = waiting;
		tree->head = 0;
	}
	return vec_reserve(&tree->changes, more + tree->alive);
}

void roster_push(struct proctree *tree, enum change_kind kind, uint32_t serial,
		 uint64_t time_ns)
{
	tree->changes.at[tree->changes.n++] = (struct change){
		.kind = kind, .serial = serial, .time_ns = time_ns
	};
	tree->pushed++;
}

int roster_rescan(struct proctree *tree, uint64_t time_ns, int r)
{
	if (!tree->rescan) {
		tree->rescan = true;
		tree->rescan_at = tree->pushed;
		tree->rescan_ns = time_ns;
	}
	return r;
}

/* A place for a record, not taken yet; ROSTER_NONE when memory is gone. */
static uint32_t place(struct proctree *tree)
{
	if (tree->unused != ROSTER_NONE)
		return tree->unused;
	if (tree->nodes.n >= ROSTER_NONE || !vec_reserve(&tree->nodes, 1))
		return ROSTER_NONE;
	return (uint32_t)tree->nodes.n;
}

bool roster_join(struct proctree *tree, const struct node *as, uint64_t time_ns)
{
	uint32_t serial = tree->count;
	struct node *node = roster_newest(tree, as->m.pid);
	uint32_t older = node ? node->m.serial : PROCTREE_NONE;
	uint32_t slot;

	if (serial == PROCTREE_NONE || !roster_reserve(tree, 2))
		return false;
	slot = place(tree);
	if (slot == ROSTER_NONE || !map_put(&tree->by_serial, serial, slot))
		return false;
	if (!map_put(&tree->by_pid, (uint64_t)as->m.pid, slot)) {
		(void)map_remove(&tree->by_serial, serial);
		return false;
	}
	node = &tree->nodes.at[slot];
	if (slot == tree->unused)
		tree->unused = node->next;
	else
		tree->nodes.n++;
	*node = *as;
	node->m.serial = serial;
	node->older = older;
	node->m.state = MEMBER_ALIVE;
	node->prev = tree->last;
	node->next = ROSTER_NONE;
	if (tree->last != ROSTER_NONE)
		tree->nodes.at[tree->last].next = slot;
	else
		tree->first = slot;
	tree->last = slot;
	tree->alive++;
	tree->count++;
	roster_push(tree, CHANGE_JOINED, serial, time_ns);
	return true;
}

/* A mark that (pid, start) has been a member, for later snapshots. */
static void bury(struct proctree *tree, const struct member *m)
{
	/* They are for zombies; without one, a zombie is a member once more. */
	if (tree->tombs.n >= TOMBS_MAX)
		map_clear(&tree->tombs);
	(void)map_put(&tree->tombs, map_mix((uint64_t)m->pid, m->start),
		      m->born_ns);
}

void roster_leave(struct proctree *tree, struct node *node, uint64_t time_ns)
{
	if (node->prev != ROSTER_NONE)
		tree->nodes.at[node->prev].next = node->next;
	else
		tree->first = node->next;
	if (node->next != ROSTER_NONE)
		tree->nodes.at[node->next].prev = node->prev;
	else
		tree->last = node->prev;
	tree->alive--;
	node->m.state = MEMBER_LEFT;
	node->m.left_ns = time_ns > node->m.born_ns ? time_ns : node->m.born_ns;
	bury(tree, &node->m);
	roster_push(tree, CHANGE_LEFT, node->m.serial, node->m.left_ns);
}

bool roster_is_buried(const struct proctree *tree, const struct procstat *proc)
{
	uint64_t pid = (uint64_t)proc->pid;
	uint64_t born_ns;

	if (proc->start &&
	    map_get(&tree->tombs, map_mix(pid, proc->start), NULL))
		return true;
	/* One that left before its start time was known. */
	return proc->born_ns &&
	       map_get(&tree->tombs, map_mix(pid, 0), &born_ns) &&
	       proc->born_ns <= born_ns + ROSTER_SLACK_NS;
}

void roster_bury(struct proctree *tree, const struct procstat *procs, size_t n,
		 uint64_t taken_ns)
{
	struct map kept = { 0 };
	bool ok = true;

	for (size_t i = 0; i < tree->tombs.room && ok; i++) {
		const struct map_slot *tomb = &tree->tombs.slots[i];

		if (tomb->used && tomb->value > taken_ns)
			ok = map_put(&kept, tomb->key, tomb->value);
	}
	for (size_t i = 0; i < n && ok; i++)
		if (roster_is_buried(tree, &procs[i]))
			ok = map_put(
				&kept,
				map_mix((uint64_t)procs[i].pid, procs[i].start),
				procs[i].born_ns);
	/* Without memory, all are kept. */
	map_free(ok ? &tree->tombs : &kept);
	if (ok)
		tree->tombs = kept;
}

void proctree_forget(struct proctree *tree, uint32_t serial)
{
	struct node *node = roster_get(tree, serial);

	if (!node || !roster_left(node))
		return;
	if (roster_newest(tree, node->m.pid) == node)
		(void)map_remove(&tree->by_pid, (uint64_t)node->m.pid);
	(void)map_remove(&tree->by_serial, serial);
	node->next = tree->unused;
	tree->unused = (uint32_t)(node - tree->nodes.at);
}

bool proctree_next(struct proctree *tree, struct change *ret)
{
	if (tree->rescan && tree->taken == tree->rescan_at) {
		tree->rescan = false;
		*ret = (struct change){ .kind = CHANGE_RESCAN,
					.serial = PROCTREE_NONE,
					.time_ns = tree->rescan_ns };
		return true;
	}
	if (tree->head == tree->changes.n)
		return false;
	*ret = tree->changes.at[tree->head++];
	tree->taken++;
	if (tree->head == tree->changes.n)
		tree->head = tree->changes.n = 0;
	return true;
}

const struct member *proctree_member(const struct proctree *tree,
				     uint32_t serial)
{
	const struct node *node = roster_get(tree, serial);

	return node ? &node->m : NULL;
}

uint32_t proctree_find(const struct proctree *tree, pid_t pid)
{
	const struct node *node = roster_living(tree, pid);

	return node ? node->m.serial : PROCTREE_NONE;
}

uint32_t proctree_count(const struct proctree *tree)
{
	return tree->count;
}

uint32_t proctree_alive(const struct proctree *tree)
{
	return tree->alive;
}
