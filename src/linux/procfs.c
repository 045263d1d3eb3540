/* SPDX-License-Identifier: Apache-2.0 */
#include "linux/procfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/outcome.h"
#include "linux/procfs_read.h"

/* 52 numbers of at most 20 digits, and a name. */
#define STAT_MAX 2048
#define STATUS_MAX 8192
#define COMMAND_MAX 4096
/* TASK_COMM_LEN is 16; kernel threads say more about their work. */
#define COMM_MAX 64
/* Of FIELD_FLAGS: PF_KTHREAD. */
#define FLAG_KERNEL 0x00200000
#define CHILDREN_MAX (64 << 20)
#define NUMBER_MAX 32

/* The fields of stat that come after the name; the state is the third. */
enum {
	FIELD_PARENT = 4,
	FIELD_FLAGS = 9,
	FIELD_WAITED_FAULTS = 11,
	FIELD_UTIME = 14,
	FIELD_STIME = 15,
	FIELD_START = 22,
	FIELD_CODE_START = 26,
	FIELD_STACK_START = 28,
	FIELD_LAST = FIELD_STACK_START,
	FIELD_STATUS = 52, /* since Linux 3.5 */
};

/* The last @c of @text: strrchr for bytes with a length. */
static const char *find_last(const char *text, size_t len, char c)
{
	while (len > 0)
		if (text[--len] == c)
			return text + len;
	return NULL;
}

/* Fields @from to @to, of which some are negative and none of ours is. */
static bool scan_fields(struct scan *s, uint64_t *fields, int from, int to)
{
	for (int i = from; i <= to; i++) {
		bool negative;

		if (!scan_char(s, ' '))
			return false;
		negative = scan_char(s, '-');
		if (!scan_number(s, 10, &fields[i]))
			return false;
		if (negative)
			fields[i] = 0;
	}
	return true;
}

int procfs_parse_stat(const char *text, size_t len, struct proc_stat *ret)
{
	struct scan s = { .at = text, .end = text + len };
	uint64_t fields[FIELD_STATUS + 1] = { 0 };
	struct proc_stat stat = { 0 };
	const char *close;

	if (!scan_pid(&s, false, &stat.pid) || !scan_char(&s, ' ') ||
	    !scan_char(&s, '('))
		return OUT_TORN;
	/*
	 * The name ends at the last ')': it may hold any byte, ") R 1" as
	 * well, and after it there are but a letter and numbers.
	 */
	close = find_last(s.at, (size_t)(s.end - s.at), ')');
	if (!close)
		return OUT_TORN;
	s.at = close + 1;
	if (!scan_char(&s, ' ') || s.at == s.end)
		return OUT_TORN;
	stat.state = *s.at++;
	if (!scan_fields(&s, fields, FIELD_PARENT, FIELD_LAST) ||
	    fields[FIELD_PARENT] > INT_MAX)
		return OUT_TORN;
	if (scan_fields(&s, fields, FIELD_LAST + 1, FIELD_STATUS))
		stat.status = (uint32_t)fields[FIELD_STATUS];
	stat.parent = (pid_t)fields[FIELD_PARENT];
	stat.kernel = fields[FIELD_FLAGS] & FLAG_KERNEL;
	stat.waited_faults = fields[FIELD_WAITED_FAULTS];
	stat.start = fields[FIELD_START];
	stat.cpu_ticks = fields[FIELD_UTIME] + fields[FIELD_STIME];
	stat.code_start = fields[FIELD_CODE_START];
	stat.stack_start = fields[FIELD_STACK_START];
	*ret = stat;
	return 0;
}

int procfs_stat(const struct procfs *fs, pid_t pid, struct proc_stat *ret,
		struct error *err)
{
	char path[PROCFS_PATH];
	char text[STAT_MAX];
	size_t len;
	int r;

	if (procfs_gone(fs, pid))
		return OUT_GONE;
	(void)snprintf(path, sizeof(path), "%d/stat", (int)pid);
	r = procfs_read_once(fs, path, text, sizeof(text), &len, err);
	if (r)
		return r;
	if (procfs_parse_stat(text, len, ret))
		return error_set(err, -EBADMSG, "understand /proc/%s", path);
	return 0;
}

/* A directory of numbers: those of its entries that are pids, in its order. */
static int read_numbers(const struct procfs *fs, const char *path,
			struct proc_tids *ret, struct error *err)
{
	struct dirent *entry;
	DIR *dir = NULL;
	int r = 0;
	int fd;

	ret->n = 0;
	fd = openat(fs->root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		dir = fdopendir(fd);
	if (!dir) {
		r = procfs_failed(errno, path, err);
		goto out;
	}
	while (errno = 0, (entry = readdir(dir)) != NULL) {
		struct scan s = { entry->d_name,
				  entry->d_name + strlen(entry->d_name) };
		pid_t pid;

		if (!scan_pid(&s, false, &pid) || s.at != s.end)
			continue;
		if (!vec_push(ret, pid)) {
			r = error_set(err, -ENOMEM, "read /proc/%s", path);
			goto out;
		}
	}
	if (errno)
		r = procfs_failed(errno, path, err);
out:
	if (dir)
		closedir(dir); /* and fd */
	else if (fd >= 0)
		close(fd);
	return r;
}

static int by_pid(const void *a, const void *b)
{
	const struct proc_stat *x = a;
	const struct proc_stat *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

int procfs_update(const struct procfs *fs, struct proc_stats *stats,
		  struct error *err)
{
	struct proc_stats old = *stats;
	struct proc_tids pids = { 0 };
	struct proc_stat stat;
	size_t k = 0;
	int r;

	*stats = (struct proc_stats){ 0 };
	if (old.n)
		qsort(old.at, old.n, sizeof(*old.at), by_pid);
	r = read_numbers(fs, ".", &pids, err);
	for (size_t i = 0; i < pids.n && r == 0; i++) {
		/* Should /proc be in another order, more is read, no less. */
		while (k < old.n && old.at[k].pid < pids.at[i])
			k++;
		if (k < old.n && old.at[k].pid == pids.at[i])
			stat = old.at[k];
		else
			r = procfs_stat(fs, pids.at[i], &stat, err);
		if (r == OUT_GONE || r == OUT_DENIED) {
			r = 0;
			continue;
		}
		if (r == 0 && !vec_push(stats, stat))
			r = error_set(err, -ENOMEM, "read /proc");
	}
	vec_free(&pids);
	vec_free(&old);
	return r;
}

int procfs_snapshot(const struct procfs *fs, struct proc_stats *ret,
		    struct error *err)
{
	ret->n = 0;
	return procfs_update(fs, ret, err);
}

int procfs_tids(const struct procfs *fs, pid_t pid, struct proc_tids *ret,
		struct error *err)
{
	char path[PROCFS_PATH];
	int r;

	if (procfs_gone(fs, pid))
		return OUT_GONE;
	(void)snprintf(path, sizeof(path), "%d/task", (int)pid);
	r = read_numbers(fs, path, ret, err);
	/* It went between the open and the read. */
	return r == 0 && ret->n == 0 ? OUT_GONE : r;
}

int procfs_children(const struct procfs *fs, pid_t pid, pid_t tid,
		    struct proc_tids *ret, struct error *err)
{
	char path[PROCFS_PATH];
	struct str text = { 0 };
	struct stat st;
	struct scan s;
	pid_t child;
	int r;

	ret->n = 0;
	if (procfs_gone(fs, tid))
		return OUT_GONE;
	(void)snprintf(path, sizeof(path), "%d/task/%d/children", (int)pid,
		       (int)tid);
	r = procfs_read_all(fs, path, &text, CHILDREN_MAX, err);
	if (r == OUT_GONE) {
		/* Or is it the file that does not exist? */
		(void)snprintf(path, sizeof(path), "%d/task/%d", (int)pid,
			       (int)tid);
		if (!procfs_gone(fs, tid) &&
		    fstatat(fs->root, path, &st, 0) == 0)
			r = -ENOENT;
	}
	if (r || text.len == 0)
		goto out;
	s = (struct scan){ text.at, text.at + text.len };
	while (scan_blanks(&s), s.at < s.end) {
		if (!scan_pid(&s, false, &child)) {
			r = error_set(err, -EBADMSG, "understand /proc/%s",
				      path);
			goto out;
		}
		if (!vec_push(ret, child)) {
			r = error_set(err, -ENOMEM, "read /proc/%s", path);
			goto out;
		}
	}
out:
	str_free(&text);
	return r;
}

static size_t without_last(const char *text, size_t len, char c)
{
	while (len > 0 && text[len - 1] == c)
		len--;
	return len;
}

int procfs_arguments(const struct procfs *fs, pid_t pid, struct str *to,
		     struct error *err)
{
	char path[PROCFS_PATH];
	char text[COMMAND_MAX];
	size_t len;
	int r;

	if (procfs_gone(fs, pid))
		return OUT_GONE;
	(void)snprintf(path, sizeof(path), "%d/cmdline", (int)pid);
	r = procfs_read(fs, path, text, sizeof(text), &len, err);
	if (r)
		return r;
	/* Who writes a title over his arguments leaves many NULs behind it. */
	len = without_last(text, len, '\0');
	for (size_t i = 0; i < len; i++)
		if (text[i] == '\0')
			text[i] = ' ';
	str_add(to, text, len);
	return to->failed ? error_set(err, -ENOMEM, "read /proc/%s", path) : 0;
}

int procfs_command(const struct procfs *fs, pid_t pid, struct str *to,
		   struct error *err)
{
	char path[PROCFS_PATH];
	char text[COMM_MAX];
	size_t before = to->len;
	size_t len;
	int r = procfs_arguments(fs, pid, to, err);

	if (r || to->len > before)
		return r;
	if (procfs_gone(fs, pid))
		return OUT_GONE;
	(void)snprintf(path, sizeof(path), "%d/comm", (int)pid);
	r = procfs_read(fs, path, text, sizeof(text), &len, err);
	if (r)
		return r;
	/* The name itself may end in a newline, or many. */
	if (len > 0 && text[len - 1] == '\n')
		len--;
	str_puts(to, "[");
	str_add(to, text, len);
	str_puts(to, "]");
	return to->failed ? error_set(err, -ENOMEM, "read /proc/%s", path) : 0;
}

/* The scan behind "NAME:" and blanks, at the start of a line; or false. */
static bool find_line(const char *text, size_t len, const char *name,
		      struct scan *ret)
{
	const char *end = text + len;
	size_t name_len = strlen(name);
	const char *newline;

	for (const char *at = text; at < end; at = newline + 1) {
		newline = memchr(at, '\n', (size_t)(end - at));
		if (!newline)
			newline = end;
		if ((size_t)(newline - at) > name_len &&
		    memcmp(at, name, name_len) == 0 && at[name_len] == ':') {
			*ret = (struct scan){ at + name_len + 1, newline };
			scan_blanks(ret);
			return true;
		}
		if (newline == end)
			break;
	}
	return false;
}

int procfs_tracer(const struct procfs *fs, pid_t pid, pid_t *ret_tracer,
		  uid_t *ret_uid, struct error *err)
{
	char path[PROCFS_PATH];
	char text[STATUS_MAX];
	struct scan s;
	uint64_t uid;
	pid_t tracer;
	size_t len;
	int r;

	if (procfs_gone(fs, pid))
		return OUT_GONE;
	(void)snprintf(path, sizeof(path), "%d/status", (int)pid);
	r = procfs_read(fs, path, text, sizeof(text), &len, err);
	if (r)
		return r;
	/* The name is a line of it too, but its newlines are escaped. */
	if (!find_line(text, len, "TracerPid", &s) ||
	    !scan_pid(&s, true, &tracer) || !find_line(text, len, "Uid", &s) ||
	    !scan_number(&s, 10, &uid) || uid > UINT32_MAX)
		return error_set(err, -EBADMSG, "understand /proc/%s", path);
	*ret_tracer = tracer;
	*ret_uid = (uid_t)uid;
	return 0;
}

bool procfs_has_random_addresses(const struct procfs *fs, pid_t pid)
{
	char path[PROCFS_PATH];
	char text[NUMBER_MAX];
	uint64_t personality;
	struct scan s;
	size_t len;

	if (procfs_gone(fs, pid) ||
	    procfs_read(fs, "sys/kernel/randomize_va_space", text, sizeof(text),
			&len, NULL) ||
	    !len || text[0] == '0')
		return false;
	(void)snprintf(path, sizeof(path), "%d/personality", (int)pid);
	if (procfs_read(fs, path, text, sizeof(text), &len, NULL))
		return false;
	s = (struct scan){ text, text + len };
	return scan_number(&s, 16, &personality) &&
	       !(personality & ADDR_NO_RANDOMIZE);
}

int procfs_inner_tid(const struct procfs *fs, pid_t pid, pid_t tid,
		     pid_t *ret_inner, bool *ret_nested, struct error *err)
{
	char path[PROCFS_PATH];
	char text[STATUS_MAX];
	unsigned levels = 0;
	pid_t inner = tid;
	struct scan s;
	size_t len;
	int r;

	if (procfs_gone(fs, tid))
		return OUT_GONE;
	(void)snprintf(path, sizeof(path), "%d/task/%d/status", (int)pid,
		       (int)tid);
	r = procfs_read(fs, path, text, sizeof(text), &len, err);
	if (r)
		return r;
	/* From the reader's namespace inwards, with a tab between them. */
	if (find_line(text, len, "NSpid", &s)) {
		while (scan_pid(&s, false, &inner)) {
			levels++;
			scan_blanks(&s);
		}
		if (!levels)
			return error_set(err, -EBADMSG, "understand /proc/%s",
					 path);
	}
	*ret_inner = inner;
	*ret_nested = levels > 1;
	return 0;
}
