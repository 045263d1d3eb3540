/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "profile/roles_internal.h"

/*
 * The keys, as forkflame(1) documents them. An array with an object for each role,
 * the one with the most wall time first:
 *
 *  command        command line of its members
 *  parent         number of the parent's process in the recording; null of roots
 *  parent_pid     its pid, or null
 *  members        how many there were
 *  processes      their numbers in the recording, by birth
 *  pids           their pids, likewise
 *  born_ns        birth of the first, since the start of the recording
 *  left_ns        end of the last
 *  at_once        the most members at one time
 *  alive          the most at one time in each of 60 equal parts of the recording
 *  cpu_share_mean    CPU time by life of the members (1: a whole CPU), the mean
 *  cpu_share_spread  and its standard deviation
 *  cpu_least, cpu_most  who had the least and the most CPU time: an object with
 *                 process, pid, cpu_ns and share
 *  wall_ns, cpu_ns, gil_wait_ns, ready_ns  of all threads of all members: time
 *                 seen, on a CPU, waiting for the GIL, ready without a CPU
 *  life_ns        lives of all members, added up
 *  waits          an object: idle time in nanoseconds by what was waited for
 *                 (gil lock pipe socket file poll time process signal other
 *                 unknown), without those of 0
 *  leaves         where they waited most, up to 5: objects with function, file,
 *                 wait, wall_ns
 *  stragglers     how many the others waited for at the end
 *  straggle_ns    and how long
 *  start_mean_ns  from birth to the first work of its own, the mean; null where
 *                 start_known is 0
 *  start_known    of how many members that is known
 *  turnover       ends a member and minute
 *  exits          members that ended
 *  bad_exits      of these, with a status that is not 0
 *  signals        of these, by a signal
 *  reading        what that means, in words; null where it is not clear
 */

static void put_double(struct json *j, const char *key, double value)
{
	json_key(j, key);
	str_printf(j->to, "%.4f", value);
	j->comma = true;
}

static void put_string(struct json *j, const char *key, const struct history *h,
		       uint32_t id)
{
	size_t len;
	const char *text = strtab_get(h->strings, id, &len);

	json_key(j, key);
	json_string(j, text, len);
}

static void put_parent(struct json *j, const struct history *h, uint32_t parent)
{
	json_key(j, "parent");
	if (parent == HISTORY_NONE)
		json_text(j, NULL);
	else
		json_u64(j, parent);
	json_key(j, "parent_pid");
	if (parent == HISTORY_NONE)
		json_text(j, NULL);
	else
		json_i64(j, h->processes.at[parent].pid);
}

static void put_members(struct json *j, const struct role *role,
			const struct history *h)
{
	json_put_u64(j, "members", role->images.n);
	json_key(j, "processes");
	json_open(j, '[');
	for (size_t i = 0; i < role->images.n; i++)
		json_u64(j, h->images.at[role->images.at[i]].process);
	json_close(j, ']');
	json_key(j, "pids");
	json_open(j, '[');
	for (size_t i = 0; i < role->images.n; i++) {
		uint32_t process = h->images.at[role->images.at[i]].process;

		json_i64(j, h->processes.at[process].pid);
	}
	json_close(j, ']');
}

static void put_times(struct json *j, const struct role *role)
{
	json_put_u64(j, "born_ns", role->born_ns);
	json_put_u64(j, "left_ns", role->left_ns);
	json_put_u64(j, "at_once", role->at_once);
	json_key(j, "alive");
	json_open(j, '[');
	for (size_t i = 0; i < ROLE_STEPS; i++)
		json_u64(j, role->alive[i]);
	json_close(j, ']');
}

static void put_extreme(struct json *j, const char *key,
			const struct roles *roles, const struct history *h,
			uint32_t image)
{
	const struct role_member *member = &roles->members.at[image];
	uint32_t process = h->images.at[image].process;

	json_key(j, key);
	json_open(j, '{');
	json_put_u64(j, "process", process);
	json_key(j, "pid");
	json_i64(j, h->processes.at[process].pid);
	json_put_u64(j, "cpu_ns", member->cpu_ns);
	put_double(j, "share",
		   member->life_ns
			   ? (double)member->cpu_ns / (double)member->life_ns
			   : 0);
	json_close(j, '}');
}

static void put_cpu(struct json *j, const struct roles *roles,
		    const struct role *role, const struct history *h)
{
	put_double(j, "cpu_share_mean", role->cpu_mean);
	put_double(j, "cpu_share_spread", role->cpu_spread);
	put_extreme(j, "cpu_least", roles, h, role->cpu_least);
	put_extreme(j, "cpu_most", roles, h, role->cpu_most);
	json_put_u64(j, "wall_ns", role->wall_ns);
	json_put_u64(j, "cpu_ns", role->cpu_ns);
	json_put_u64(j, "gil_wait_ns", role->gil_wait_ns);
	json_put_u64(j, "ready_ns", role->ready_ns);
	json_put_u64(j, "life_ns", role->life_ns);
}

static void put_waits(struct json *j, const struct role *role,
		      const struct history *h)
{
	json_key(j, "waits");
	json_open(j, '{');
	for (int i = 0; i < WAIT_COUNT; i++)
		if (role->waits[i])
			json_put_u64(j, wait_name((enum wait_kind)i),
				     role->waits[i]);
	json_close(j, '}');
	json_key(j, "leaves");
	json_open(j, '[');
	for (size_t i = 0; i < ROLE_LEAVES && role->leaves[i].wall_ns; i++) {
		const struct role_wait *leaf = &role->leaves[i];

		json_open(j, '{');
		put_string(j, "function", h, leaf->function);
		put_string(j, "file", h, leaf->file);
		json_put_text(j, "wait", wait_name((enum wait_kind)leaf->kind));
		json_put_u64(j, "wall_ns", leaf->wall_ns);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void put_lives(struct json *j, const struct role *role)
{
	json_put_u64(j, "stragglers", role->stragglers);
	json_put_u64(j, "straggle_ns", role->straggle_ns);
	json_key(j, "start_mean_ns");
	if (role->start_known)
		json_u64(j, role->start_mean_ns);
	else
		json_text(j, NULL);
	json_put_u64(j, "start_known", role->start_known);
	put_double(j, "turnover", role->turnover);
	json_put_u64(j, "exits", role->exits);
	json_put_u64(j, "bad_exits", role->bad_exits);
	json_put_u64(j, "signals", role->signals);
}

static void put_reading(struct json *j, const struct role *role,
			const struct history *h)
{
	struct str text = { 0 };

	role_reading(role, h, &text);
	json_put_text(j, "reading", text.len ? text.at : NULL);
	j->to->failed = j->to->failed || text.failed;
	str_free(&text);
}

void roles_json(const struct roles *roles, const struct history *h,
		struct json *j)
{
	json_open(j, '[');
	for (size_t i = 0; i < roles->at.n; i++) {
		const struct role *role = &roles->at.at[i];

		json_open(j, '{');
		put_string(j, "command", h, role->command);
		put_parent(j, h, role->parent);
		put_members(j, role, h);
		put_times(j, role);
		put_cpu(j, roles, role, h);
		put_waits(j, role, h);
		put_lives(j, role);
		put_reading(j, role, h);
		json_close(j, '}');
	}
	json_close(j, ']');
}
