/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/json.h"
#include "base/nsec.h"
#include "linux/clock.h"
#include "session_internal.h"

/*
 * The lives of the tree, told as they happen: a run without samples. What is told
 * of a process begins with how it came to be a member; of a whole machine, that is
 * told of each Python and of what descends from one, and of nobody else.
 */

static const char *const news_names[NEWS_COUNT] = {
	[NEWS_HERE] = "here", [NEWS_START] = "start",
	[NEWS_FORK] = "fork", [NEWS_FOUND] = "found",
	[NEWS_EXEC] = "exec", [NEWS_PYTHON] = "python",
	[NEWS_EXIT] = "exit",
};

/* Deeper members are not indented more. */
#define INDENT_MAX 20

static bool watching(const struct forkflame *ff)
{
	return ff->watch.write != NULL;
}

static void put(struct forkflame *ff, struct str *line)
{
	struct watch *w = &ff->watch;
	int r;

	str_puts(line, "\n");
	r = line->failed ? -ENOMEM : w->write(w->ctx, line->at, line->len);
	if (r < 0 && !w->failed)
		w->failed = r;
	str_free(line);
}

/* The version of the Python in it; NULL: none that is known of. */
static const char *python_of(const struct forkflame *ff,
			     const struct process *p)
{
	uint32_t id = process_image(p)->python;
	size_t len;

	return id ? strtab_get(ff->strings, id, &len) : NULL;
}

/* How long it has lived at @at_ns; what it had lived before we came is in it. */
static uint64_t lived_ns(const struct process *p, uint64_t at_ns)
{
	return p->age_ns + nsec_since(at_ns, p->born_ns);
}

static void text_end(const struct process *p, struct str *to)
{
	if (!p->has_status)
		str_puts(to, "ended");
	else if (WIFSIGNALED(p->status))
		str_printf(to, "signal %d (%s)%s", WTERMSIG(p->status),
			   strsignal(WTERMSIG(p->status)),
			   WCOREDUMP(p->status) ? ", core dumped" : "");
	else
		str_printf(to, "status %d", WEXITSTATUS(p->status));
	str_printf(to, " after %.3f s  ",
		   (double)lived_ns(p, p->left_ns) / (double)NSEC_PER_SEC);
}

static void text_news(const struct forkflame *ff, const struct process *p,
		      enum news news, uint64_t at_ns, struct str *to)
{
	const char *python = python_of(ff, p);
	uint64_t deep = p->depth < INDENT_MAX ? p->depth : INDENT_MAX;
	const char *command;
	size_t len;

	command = strtab_get(ff->strings, process_command(p), &len);
	str_printf(to, "%10.3f  %-6s  %7d  %*s",
		   (double)nsec_since(at_ns, ff->start_ns) /
			   (double)NSEC_PER_SEC,
		   news_names[news], p->pid, (int)deep * 2, "");
	if (news == NEWS_EXIT)
		text_end(p, to);
	else if (python)
		str_printf(to, "Python %s  ", python);
	if (len)
		str_escape(to, command, len, "");
	else
		str_puts(to, "?");
}

static void json_pid(struct json *j, const char *key, bool known,
		     uint64_t value)
{
	json_key(j, key);
	if (known)
		json_u64(j, value);
	else
		json_text(j, NULL);
}

static void json_end(const struct process *p, struct json *j)
{
	bool killed = p->has_status && WIFSIGNALED(p->status);

	json_put_u64(j, "lived_ns", lived_ns(p, p->left_ns));
	json_pid(j, "exit", p->has_status && !killed,
		 (uint64_t)WEXITSTATUS(p->status));
	json_pid(j, "signal", killed, (uint64_t)WTERMSIG(p->status));
}

static void json_news(const struct forkflame *ff, const struct process *p,
		      enum news news, uint64_t at_ns, struct str *to)
{
	const struct process *parent = process_at(ff, p->parent);
	struct json j = { .to = to };
	const char *command;
	size_t len;

	command = strtab_get(ff->strings, process_command(p), &len);
	json_open(&j, '{');
	json_put_text(&j, "event", news_names[news]);
	json_put_u64(&j, "at_ns", nsec_since(at_ns, ff->start_ns));
	json_put_u64(&j, "serial", p->serial);
	json_put_u64(&j, "pid", (uint64_t)p->pid);
	json_pid(&j, "parent_serial", parent != NULL, p->parent);
	json_pid(&j, "parent", parent != NULL,
		 parent ? (uint64_t)parent->pid : 0);
	json_put_u64(&j, "depth", p->depth);
	json_key(&j, "command");
	if (len)
		json_string(&j, command, len);
	else
		json_text(&j, NULL);
	json_put_text(&j, "python", python_of(ff, p));
	if (news == NEWS_HERE)
		json_put_u64(&j, "lived_ns", lived_ns(p, at_ns));
	if (news == NEWS_EXIT)
		json_end(p, &j);
	json_close(&j, '}');
}

static void tell(struct forkflame *ff, struct process *p, enum news news,
		 uint64_t at_ns)
{
	struct str line = { 0 };

	/* One python a process is enough to be counted among them. */
	if (process_image(p)->python && !p->was_python) {
		p->was_python = true;
		ff->watch.pythons++;
	}
	p->told_python = process_image(p)->python;
	if (ff->watch.format == FORKFLAME_JSON)
		json_news(ff, p, news, at_ns, &line);
	else
		text_news(ff, p, news, at_ns, &line);
	put(ff, &line);
}

/* Of a whole machine: Pythons, and what they start. */
static bool is_meant(const struct forkflame *ff, const struct process *p)
{
	const struct process *parent = process_at(ff, p->parent);

	if (p->left_out)
		return false;
	return !ff->everybody || process_image(p)->python ||
	       (parent && parent->told);
}

/* How old it is, by its start time, which also counts what the machine slept. */
static uint64_t age_of(const struct forkflame *ff, pid_t pid)
{
	uint64_t tick_ns = NSEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
	struct proc_stat stat;

	if (procfs_stat(&ff->fs, pid, &stat, NULL) != 0)
		return 0;
	return nsec_since(clock_ns(CLOCK_BOOTTIME), stat.start * tick_ns);
}

void watch_join(struct forkflame *ff, struct process *p, const struct member *m)
{
	p->met = true;
	if (m->found_late)
		p->joined_as = NEWS_FOUND;
	else if (m->born_seen)
		p->joined_as = p->started ? NEWS_START : NEWS_FORK;
	else
		p->joined_as = NEWS_HERE;
	if (watching(ff) && p->joined_as == NEWS_HERE)
		p->age_ns = age_of(ff, p->pid);
	/* Before its first exec, the command is a copy of us. */
	if (!p->started)
		watch_python(ff, p);
}

void watch_exec(struct forkflame *ff, struct process *p, uint64_t time_ns)
{
	p->met = true;
	if (!watching(ff))
		return;
	if (p->told)
		tell(ff, p, NEWS_EXEC, time_ns);
	else
		watch_python(ff, p);
}

void watch_python(struct forkflame *ff, struct process *p)
{
	if (!watching(ff) || !p->met)
		return;
	if (!p->told && is_meant(ff, p)) {
		p->told = true;
		ff->watch.seen++;
		tell(ff, p, p->joined_as, p->born_ns);
	} else if (p->told && process_image(p)->python != p->told_python) {
		tell(ff, p, NEWS_PYTHON, clock_now());
	}
}

void watch_leave(struct forkflame *ff, struct process *p)
{
	if (!watching(ff) || !p->told)
		return;
	ff->watch.ended++;
	ff->watch.bad += p->has_status && p->status;
	tell(ff, p, NEWS_EXIT, p->left_ns);
}

void watch_lost(struct forkflame *ff)
{
	uint64_t at_ns = nsec_since(clock_now(), ff->start_ns);
	struct str line = { 0 };
	struct json j = { .to = &line };

	if (!watching(ff))
		return;
	if (ff->watch.format == FORKFLAME_JSON) {
		json_open(&j, '{');
		json_put_text(&j, "event", "lost");
		json_put_u64(&j, "at_ns", at_ns);
		json_close(&j, '}');
	} else {
		str_printf(&line,
			   "%10.3f  lost    events were lost, the tree "
			   "is read anew",
			   (double)at_ns / (double)NSEC_PER_SEC);
	}
	put(ff, &line);
}

void watch_begin(struct forkflame *ff)
{
	struct str line = { 0 };
	struct json j = { .to = &line };

	if (!watching(ff) || ff->watch.format != FORKFLAME_JSON)
		return;
	json_open(&j, '{');
	json_put_text(&j, "event", "begin");
	json_put_u64(&j, "start_unix_ns",
		     clock_ns(CLOCK_REALTIME) -
			     nsec_since(clock_now(), ff->start_ns));
	json_put_text(&j, "source", source_name(ff));
	json_close(&j, '}');
	put(ff, &line);
}

void watch_end(struct forkflame *ff)
{
	const struct watch *w = &ff->watch;
	struct str line = { 0 };
	struct json j = { .to = &line };

	if (!watching(ff) || w->failed)
		return;
	if (w->format == FORKFLAME_JSON) {
		json_open(&j, '{');
		json_put_text(&j, "event", "end");
		json_put_u64(&j, "at_ns", nsec_since(ff->end_ns, ff->start_ns));
		json_put_u64(&j, "seen", w->seen);
		json_put_u64(&j, "pythons", w->pythons);
		json_put_u64(&j, "ended", w->ended);
		json_put_u64(&j, "bad", w->bad);
		json_put_u64(&j, "lost", ff->counts.events_lost);
		json_close(&j, '}');
	} else {
		str_printf(&line,
			   "%10.3f  end     %" PRIu64 " processes, %" PRIu64
			   " of them Python; %" PRIu64 " ended, %" PRIu64
			   " of them badly",
			   (double)nsec_since(ff->end_ns, ff->start_ns) /
				   (double)NSEC_PER_SEC,
			   w->seen, w->pythons, w->ended, w->bad);
		if (ff->counts.events_lost)
			str_printf(&line, "; events lost %" PRIu64 " times",
				   ff->counts.events_lost);
	}
	put(ff, &line);
}

int forkflame_watch(struct forkflame *ff, enum forkflame_summary_format format,
		    forkflame_write_fn write, void *ctx)
{
	int r;

	ff->watch =
		(struct watch){ .write = write, .ctx = ctx, .format = format };
	/* Who runs is nothing to us. */
	session_close_oncpu(ff);
	r = forkflame_run(ff);
	ff->watch.write = NULL;
	return r;
}
