/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/strtab.h"
#include "profile/summary.h"
#include "profile/table.h"
#include "profile/table_tree.h"

#define FEW 12  /* lines; with more, equal processes become one */
#define MOST 30 /* lines, unless asked for more */
#define PID_LEAST 7
#define PID_MOST 21
#define ENDED 11

/* How the lines are laid out. */
struct layout {
	const struct tree_lines *tree;
	int pid;     /* columns, with the indentation */
	bool python; /* the version has a column */
};

/* Linux's numbers, on nearly all machines. */
static const char *signal_name(int number)
{
	static const char *const names[] = {
		[1] = "HUP",   [2] = "INT",   [3] = "QUIT",  [4] = "ILL",
		[5] = "TRAP",  [6] = "ABRT",  [7] = "BUS",   [8] = "FPE",
		[9] = "KILL",  [10] = "USR1", [11] = "SEGV", [12] = "USR2",
		[13] = "PIPE", [14] = "ALRM", [15] = "TERM", [24] = "XCPU",
		[31] = "SYS",
	};
	size_t n = sizeof(names) / sizeof(*names);

	return number > 0 && (size_t)number < n ? names[number] : NULL;
}

/* How one process ended, in ENDED columns. */
static void one_end(const struct past_process *process, char *to, size_t room)
{
	int number = process->status & 0x7f;

	if (!process->left)
		(void)snprintf(to, room, "lives");
	else if (!process->has_status)
		(void)snprintf(to, room, "ended");
	else if (number && signal_name(number))
		(void)snprintf(to, room, "SIG%s", signal_name(number));
	else if (number)
		(void)snprintf(to, room, "signal %d", number);
	else if (process->status >> 8 & 0xff)
		(void)snprintf(to, room, "exit %d",
			       process->status >> 8 & 0xff);
	else
		(void)snprintf(to, room, "ok");
}

static void put_end(struct table *t, const struct tree_line *line)
{
	char text[32];

	if (line->alike)
		one_end(&t->h->processes.at[line->first], text, sizeof(text));
	else if (line->bad)
		(void)snprintf(text, sizeof(text), "%" PRIu32 " bad",
			       line->bad);
	else if (line->living)
		(void)snprintf(text, sizeof(text), "%" PRIu32 " live",
			       line->living);
	else
		(void)snprintf(text, sizeof(text), "ok");
	if (line->bad)
		table_look(t, LOOK_RED);
	str_printf(&t->to, "  %-*s", ENDED, text);
	if (line->bad)
		table_look(t, LOOK_PLAIN);
}

static void put_pid(struct table *t, const struct layout *layout,
		    unsigned depth, const char *text)
{
	int indent = 2 * (depth < 40 ? (int)depth : 40);

	if (indent > layout->pid - PID_LEAST)
		indent = layout->pid - PID_LEAST;
	str_printf(&t->to, "%*s%-*s", indent, "", layout->pid - indent, text);
}

/* Why there is nothing of it, if there is not. */
static const char *remark(uint8_t verdict)
{
	static const char *const words[VERDICT_COUNT] = {
		[VERDICT_NOT_PYTHON] = "[not Python] ",
		[VERDICT_UNKNOWN] = "[unknown Python] ",
		[VERDICT_DENIED] = "[denied] ",
		[VERDICT_TOO_SHORT] = "[too short] ",
		[VERDICT_GONE] = "[gone] ",
		[VERDICT_LEFT_OUT] = "[left out] ",
	};

	return verdict < VERDICT_COUNT && words[verdict] ? words[verdict] : "";
}

static void put_line(struct table *t, const struct layout *layout,
		     const struct tree_line *line)
{
	size_t width = TABLE_WIDTH - (size_t)layout->pid - 40 - 2 - ENDED - 1;
	const char *note = remark(line->verdict);
	char text[32];

	if (line->processes > 1)
		(void)snprintf(text, sizeof(text), "%" PRIu32 " x",
			       line->processes);
	else
		(void)snprintf(text, sizeof(text), "%" PRId32,
			       t->h->processes.at[line->first].pid);
	put_pid(t, layout, line->depth, text);
	if (line->before)
		str_printf(&t->to, "%8s", "before");
	else
		table_seconds(t, line->born_ns, 8);
	if (line->living)
		str_printf(&t->to, "%9s", "-");
	else
		table_seconds(t, line->left_ns, 9);
	table_seconds(t, line->cpu_ns, 9);
	table_percent(t, line->cpu_ns, line->life_ns, 7);
	table_percent(t, line->gil_wait_ns, line->life_ns, 7);
	put_end(t, line);
	str_puts(&t->to, " ");
	if (layout->python) {
		table_string(t, line->python, 8, FIT_END);
		str_puts(&t->to, " ");
		width -= 9;
	}
	table_look(t, LOOK_DIM);
	str_puts(&t->to, note);
	table_look(t, LOOK_PLAIN);
	for (; *note && width > 1; note++)
		width--;
	table_command(t, line->command, width, FIT_END | FIT_RAGGED);
	str_puts(&t->to, "\n");
}

/* The children of a line that are not shown, as one. */
static void put_others(struct table *t, const struct layout *layout,
		       uint32_t first, unsigned depth)
{
	uint64_t cpu_ns = 0;
	uint32_t n = 0;
	char text[32];

	for (uint32_t i = first; i != LINE_NONE;
	     i = layout->tree->at.at[i].sibling) {
		const struct tree_line *line = &layout->tree->at.at[i];

		if (line->shown)
			continue;
		n += line->all_processes;
		cpu_ns += line->all_cpu_ns;
	}
	if (!n)
		return;
	table_look(t, LOOK_DIM);
	(void)snprintf(text, sizeof(text), "%" PRIu32 " x", n);
	put_pid(t, layout, depth, text);
	str_printf(&t->to, "%17s", "");
	table_seconds(t, cpu_ns, 9);
	str_printf(&t->to, "%*sothers", 7 + 7 + 2, "");
	table_look(t, LOOK_PLAIN);
	str_puts(&t->to, "\n");
}

/* The next line that is shown, @at or a later sibling. */
static uint32_t shown_from(const struct tree_lines *tree, uint32_t at)
{
	while (at != LINE_NONE && !tree->at.at[at].shown)
		at = tree->at.at[at].sibling;
	return at;
}

/* A root and what is shown below it, a parent before its children. */
static void put_tree(struct table *t, const struct layout *layout,
		     uint32_t root)
{
	const struct tree_lines *tree = layout->tree;
	uint32_t at = root, next;

	for (;;) {
		const struct tree_line *line = &tree->at.at[at];

		put_line(t, layout, line);
		next = shown_from(tree, line->child);
		if (next == LINE_NONE)
			put_others(t, layout, line->child, line->depth + 1);
		while (next == LINE_NONE && at != root) {
			line = &tree->at.at[at];
			next = shown_from(tree, line->sibling);
			at = line->parent;
			if (next == LINE_NONE)
				put_others(t, layout, tree->at.at[at].child,
					   line->depth);
		}
		if (next == LINE_NONE)
			return;
		at = next;
	}
}

/* Is there more than one version? Else *@ret is that one, or 0. */
static bool versions_differ(const struct tree_lines *tree, uint32_t *ret)
{
	bool differ = false;

	*ret = 0;
	for (size_t i = 0; i < tree->at.n; i++) {
		const struct tree_line *line = &tree->at.at[i];

		if (line->verdict != VERDICT_SAMPLED)
			continue;
		differ = differ || !line->python ||
			 (*ret && line->python != *ret);
		if (line->python)
			*ret = line->python;
	}
	return differ && *ret;
}

static void put_heads(struct table *t, struct layout *layout)
{
	unsigned depth = 0;
	uint32_t python;

	for (size_t i = 0; i < layout->tree->at.n; i++) {
		const struct tree_line *line = &layout->tree->at.at[i];

		/* One that is not shown is told of below its parent. */
		if ((line->shown ||
		     (line->parent != LINE_NONE &&
		      layout->tree->at.at[line->parent].shown)) &&
		    line->depth > depth)
			depth = line->depth;
	}
	depth = depth < 20 ? depth : 20;
	layout->pid = 2 * (int)depth + PID_LEAST;
	if (layout->pid > PID_MOST)
		layout->pid = PID_MOST;
	layout->python = versions_differ(layout->tree, &python);
	str_puts(&t->to, "\n");
	table_look(t, LOOK_BOLD);
	str_puts(&t->to, "processes");
	table_look(t, LOOK_PLAIN);
	if (python && !layout->python) {
		str_puts(&t->to, " (Python ");
		table_string(t, python, 16, FIT_END | FIT_RAGGED);
		str_puts(&t->to, ")");
	}
	str_puts(&t->to, "\n");
	table_look(t, LOOK_DIM);
	str_printf(&t->to, "%-*s%8s%9s%9s%7s%7s  %-*s ", layout->pid, "pid",
		   "start s", "end s", "CPU s", "CPU %", "GIL %", ENDED,
		   "ended");
	if (layout->python)
		str_printf(&t->to, "%-8s ", "Python");
	str_puts(&t->to, "command");
	table_look(t, LOOK_PLAIN);
	str_puts(&t->to, "\n");
}

static void put_roots(struct table *t, const struct layout *layout)
{
	const struct tree_lines *tree = layout->tree;
	uint32_t run = HISTORY_NONE, others = 0;

	for (uint32_t i = 0; i < tree->at.n; i++) {
		const struct tree_line *line = &tree->at.at[i];
		uint32_t of = t->h->processes.at[line->first].run;

		if (line->parent != LINE_NONE)
			continue;
		if (!line->shown) {
			others += line->all_processes;
			continue;
		}
		if (t->h->runs.n > 1 && of != run) {
			table_look(t, LOOK_DIM);
			table_string(t, t->h->runs.at[of].run.host, 60,
				     FIT_END | FIT_RAGGED);
			table_look(t, LOOK_PLAIN);
			str_puts(&t->to, ":\n");
		}
		run = of;
		put_tree(t, layout, i);
	}
	if (others)
		str_printf(&t->to, "%" PRIu32 " others\n", others);
}

int table_processes(struct table *t)
{
	size_t most = t->options->rows ? t->options->rows : MOST;
	struct layout layout = { 0 };
	struct tree_lines tree;
	int r;

	r = tree_make(&tree, t->h, &t->selection, &t->roles, false, most);
	if (!r && tree.at.n > FEW) {
		tree_free(&tree);
		r = tree_make(&tree, t->h, &t->selection, &t->roles, true,
			      most);
	}
	layout.tree = &tree;
	if (!r && tree.at.n) {
		put_heads(t, &layout);
		put_roots(t, &layout);
	}
	if (!r && t->to.failed)
		r = -ENOMEM;
	tree_free(&tree);
	return r;
}
