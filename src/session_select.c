/* SPDX-License-Identifier: Apache-2.0 */
#include "session_select.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/outcome.h"
#include "linux/denial.h"
#include "linux/task.h"
#include "session_internal.h"
#include "session_tids.h"

/*
 * Which processes are looked into. Those that were not asked for are members of
 * the tree all the same, so that their children are found; they are not read, not
 * stopped, and counted as left out.
 */

/* So many refusals are told one by one; the others are counted only. */
#define DENIALS_TOLD 8

static int compile(const char *text, regex_t *ret, bool *ret_has,
		   struct error *err)
{
	char why[160];
	int code;

	if (!text)
		return 0;
	code = regcomp(ret, text, REG_EXTENDED | REG_NOSUB);
	if (code == 0) {
		*ret_has = true;
		return 0;
	}
	(void)regerror(code, ret, why, sizeof(why));
	return error_set(err, -EINVAL, "'%.60s' is no regular expression: %s",
			 text, why);
}

int selection_open(struct selection *s, const struct forkflame_options *options,
		   struct error *err)
{
	struct stat st;
	int r = compile(options->include_command, &s->include, &s->has_include,
			err);

	if (r == 0)
		r = compile(options->exclude_command, &s->exclude,
			    &s->has_exclude, err);
	if (r < 0)
		return r;
	s->depth = options->depth < 0 ? UINT64_MAX : (uint64_t)options->depth;
	s->uid = options->uid;
	if (!options->exe)
		return 0;
	if (stat(options->exe, &st) < 0)
		return error_set(err, -errno, "no program %.120s: %s",
				 options->exe, strerror(errno));
	s->has_exe = true;
	s->exe_device = st.st_dev;
	s->exe_inode = st.st_ino;
	return 0;
}

void selection_close(struct selection *s)
{
	if (s->has_include)
		regfree(&s->include);
	if (s->has_exclude)
		regfree(&s->exclude);
	s->has_include = s->has_exclude = false;
}

static bool fits(const regex_t *expression, const char *text)
{
	return regexec(expression, text, 0, NULL, 0) == 0;
}

/* A program may write a title over its arguments: it is read anew. */
static bool command_fits(struct forkflame *ff, const struct process *p)
{
	const struct selection *s = &ff->selection;
	struct str command = { 0 };
	const char *text;
	size_t len;
	bool yes;

	if (!s->has_include && !s->has_exclude)
		return true;
	text = strtab_get(ff->strings, process_image(p)->command, &len);
	if (procfs_command(&ff->fs, p->pid, &command, NULL) == 0 && command.len)
		text = command.at;
	yes = (!s->has_include || fits(&s->include, text)) &&
	      (!s->has_exclude || !fits(&s->exclude, text));
	str_free(&command);
	return yes;
}

static bool exe_fits(const struct forkflame *ff, const struct process *p)
{
	const struct selection *s = &ff->selection;
	struct stat st;
	char path[32];

	if (!s->has_exe)
		return true;
	(void)snprintf(path, sizeof(path), "%d/exe", p->pid);
	return task_known(p->pid) && fstatat(ff->fs.root, path, &st, 0) == 0 &&
	       st.st_dev == s->exe_device && st.st_ino == s->exe_inode;
}

static bool user_fits(const struct forkflame *ff, const struct process *p)
{
	pid_t tracer;
	uid_t uid;

	if (ff->selection.uid < 0)
		return true;
	return procfs_tracer(&ff->fs, p->pid, &tracer, &uid, NULL) == 0 &&
	       (int64_t)uid == ff->selection.uid;
}

/* One that was named is nobody's descendant. */
static bool was_named(const struct forkflame *ff, const struct member *m)
{
	for (size_t i = 0; m->start && i < ff->roots.n; i++)
		if (ff->roots.at[i].pid == m->pid &&
		    ff->roots.at[i].start == m->start)
			return true;
	return false;
}

void select_place(struct forkflame *ff, struct process *p,
		  const struct member *m, const struct process *parent)
{
	p->depth = 0;
	if (parent && !was_named(ff, m))
		p->depth = parent->depth + 1;
	/* Below the depth there is nobody to wait for. */
	p->wanted = p->depth <= ff->selection.depth;
	ff->wanted += p->wanted;
}

void select_image(struct forkflame *ff, struct process *p,
		  const struct process *heir_of)
{
	/* At its birth it has its parent's user, program and arguments. */
	if (heir_of && heir_of->wanted)
		p->left_out = heir_of->left_out;
	else
		p->left_out = !user_fits(ff, p) || !exe_fits(ff, p) ||
			      !command_fits(ff, p);
	p->left_out = p->left_out || !p->wanted;
}

bool select_again(struct forkflame *ff, struct process *p)
{
	if (!p->wanted)
		return false;
	select_image(ff, p, NULL);
	if (p->left_out)
		process_probe_again(ff, p);
	return !p->left_out;
}

bool select_sees(const struct forkflame *ff, const struct proc_stat *stat)
{
	/* The kernel's own have no program, and we are not our own target. */
	return !ff->everybody || (!stat->kernel && stat->pid != getpid());
}

int select_strangers(struct forkflame *ff, const struct procstat *procs,
		     size_t n, uint64_t before_ns, bool first)
{
	struct map pids = { 0 };
	int r = 0;

	for (size_t i = 0; ff->everybody && r == 0 && i < n; i++)
		if (!map_put(&pids, (uint64_t)procs[i].pid, 0))
			r = -ENOMEM;
	for (size_t i = 0; ff->everybody && r == 0 && i < n; i++)
		if (procs[i].born_ns <= before_ns &&
		    !map_get(&pids, (uint64_t)procs[i].parent, NULL) &&
		    proctree_find(ff->tree, procs[i].pid) == PROCTREE_NONE &&
		    proctree_add(ff->tree, procs[i].pid, procs[i].start,
				 procs[i].born_ns, !first) == PROCTREE_NONE)
			r = -ENOMEM;
	map_free(&pids);
	return r;
}

/*
 * Can its memory be read? Try, with one byte of its code; of its first mapping, if
 * the kernel does not say where that is, or it is there no more.
 */
static int check_access(struct forkflame *ff, const struct proc_stat *stat)
{
	struct proc_maps maps = { 0 };
	char byte;
	int r = OUT_UNKNOWN;

	ff->remote->pid = stat->pid;
	if (stat->code_start > 1)
		r = mem_read(&ff->mem, stat->code_start, &byte, 1);
	if (r != 0 && r != OUT_DENIED) {
		r = procfs_maps(&ff->fs, stat->pid, &maps, NULL);
		if (r == 0 && maps.maps.n)
			r = mem_read(&ff->mem, maps.maps.at[0].start, &byte, 1);
		proc_maps_free(&maps);
	}
	return r == OUT_DENIED ? denial_explain(&ff->fs, stat->pid, &ff->err)
			       : 0;
}

int forkflame_add_pid(struct forkflame *ff, pid_t pid)
{
	struct proc_stat stat;
	int r;

	ff->err = ERROR_NONE;
	r = procfs_stat(&ff->fs, pid, &stat, &ff->err);
	if (r == OUT_GONE)
		return error_set(&ff->err, -ESRCH, "no process %d", pid);
	if (r == 0 && session_has_ended(ff, &stat))
		return error_set(&ff->err, -ESRCH, "process %d has exited",
				 pid);
	if (r < 0)
		return r;
	if (r == 0 && !vec_push(&ff->roots, stat))
		return error_set(&ff->err, -ENOMEM, "take in process %d", pid);
	return r == 0 ? check_access(ff, &stat) : 0;
}

int forkflame_add_all(struct forkflame *ff)
{
	ff->err = ERROR_NONE;
	if (ff->command)
		return error_set(&ff->err, -EBUSY,
				 "take in everybody beside a command");
	if (geteuid() != 0 && ff->selection.uid < 0)
		ff->selection.uid = geteuid();
	ff->everybody = true;
	return 0;
}

void select_say_denied(struct forkflame *ff, struct process *p)
{
	struct error why = ERROR_NONE;

	/* Of those that were named the caller has been told. */
	if (p->denial_told || p->left || p->parent == PROCTREE_NONE ||
	    ff->everybody)
		return;
	p->denial_told = true;
	if (ff->denials++ >= DENIALS_TOLD)
		return;
	(void)denial_explain(&ff->fs, p->pid, &why);
	session_notice(ff, "%s", why.text);
}
