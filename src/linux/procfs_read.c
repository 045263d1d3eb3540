/* SPDX-License-Identifier: Apache-2.0 */
#include "linux/procfs_read.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "base/outcome.h"
#include "linux/task.h"

int procfs_failed(int number, const char *path, struct error *err)
{
	switch (number) {
	case ENOENT: /* before the open */
	case ESRCH:  /* after it: the same news */
		return OUT_GONE;
	case EACCES:
	case EPERM:
		return OUT_DENIED;
	default:
		return error_set(err, -number, "read /proc/%s", path);
	}
}

bool procfs_gone(const struct procfs *fs, pid_t tid)
{
	return fs->live && !task_known(tid);
}

/* Bytes read, 0 at the end, -1 with errno: a read that signals do not break. */
static ssize_t read_some(int fd, char *buf, size_t room)
{
	ssize_t n;

	do
		n = read(fd, buf, room);
	while (n < 0 && errno == EINTR);
	return n;
}

int procfs_read(const struct procfs *fs, const char *path, char *buf,
		size_t room, size_t *ret_len, struct error *err)
{
	size_t len = 0;
	ssize_t n = 1;
	int r = 0;
	int fd;

	fd = openat(fs->root, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return procfs_failed(errno, path, err);
	while (len < room && n > 0) {
		n = read_some(fd, buf + len, room - len);
		if (n < 0) {
			r = procfs_failed(errno, path, err);
			goto out;
		}
		len += (size_t)n;
	}
	*ret_len = len;
out:
	close(fd);
	return r;
}

int procfs_read_once(const struct procfs *fs, const char *path, char *buf,
		     size_t room, size_t *ret_len, struct error *err)
{
	ssize_t n;
	int r = 0;
	int fd;

	fd = openat(fs->root, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return procfs_failed(errno, path, err);
	n = read_some(fd, buf, room);
	if (n < 0)
		r = procfs_failed(errno, path, err);
	else
		*ret_len = (size_t)n;
	close(fd);
	return r;
}

int procfs_read_all(const struct procfs *fs, const char *path, struct str *to,
		    size_t max, struct error *err)
{
	char buf[16384];
	ssize_t n;
	int r = 0;
	int fd;

	str_clear(to);
	fd = openat(fs->root, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return procfs_failed(errno, path, err);
	while ((n = read_some(fd, buf, sizeof(buf))) > 0) {
		if ((size_t)n > max - to->len) {
			r = error_set(err, -EFBIG,
				      "/proc/%s is longer than %zu bytes", path,
				      max);
			goto out;
		}
		str_add(to, buf, (size_t)n);
		if (to->failed) {
			r = error_set(err, -ENOMEM, "read /proc/%s", path);
			goto out;
		}
	}
	if (n < 0)
		r = procfs_failed(errno, path, err);
out:
	close(fd);
	return r;
}

void scan_blanks(struct scan *s)
{
	while (s->at < s->end && (*s->at == ' ' || *s->at == '\t'))
		s->at++;
}

bool scan_char(struct scan *s, char c)
{
	if (s->at == s->end || *s->at != c)
		return false;
	s->at++;
	return true;
}

/* The value of a digit, or UINT_MAX. The kernel writes lower case only. */
static unsigned digit(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (unsigned)(c - 'a') + 10;
	return UINT_MAX;
}

bool scan_number(struct scan *s, unsigned base, uint64_t *ret)
{
	const char *begin = s->at;
	uint64_t value = 0;

	for (; s->at < s->end && digit(*s->at) < base; s->at++) {
		if (value > (UINT64_MAX - digit(*s->at)) / base)
			return false;
		value = value * base + digit(*s->at);
	}
	if (s->at == begin)
		return false;
	*ret = value;
	return true;
}

bool scan_pid(struct scan *s, bool zero, pid_t *ret)
{
	uint64_t value;

	if (!scan_number(s, 10, &value) || value > INT_MAX ||
	    (value == 0 && !zero))
		return false;
	*ret = (pid_t)value;
	return true;
}
