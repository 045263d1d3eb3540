/* SPDX-License-Identifier: Apache-2.0 */
#include "linux/place.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "linux/task.h"

/* Status files are 1.5 kB; one with many groups is longer, behind what we ask. */
#define TEXT_MAX 4096

static size_t read_file(int root, pid_t pid, const char *name, char *text)
{
	char path[64];
	ssize_t len = -1;
	int fd;

	(void)snprintf(path, sizeof(path), "%d/%s", pid, name);
	fd = openat(root, path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		len = read(fd, text, TEXT_MAX - 1);
		(void)close(fd);
	}
	text[len > 0 ? len : 0] = '\0';
	return len > 0 ? (size_t)len : 0;
}

/* The text behind "NAME:\t" at the start of a line; NULL without. */
static const char *field(const char *text, const char *name)
{
	size_t len = strlen(name);

	while (text) {
		if (!strncmp(text, name, len) && text[len] == ':')
			return text + len + 1;
		text = strchr(text, '\n');
		text += text != NULL;
	}
	return NULL;
}

void place_parse_status(const char *text, size_t len, struct place *ret)
{
	const char *at;
	char *copy = strndup(text, len);

	at = copy ? field(copy, "Uid") : NULL;
	if (at)
		ret->uid = (uid_t)strtoul(at, NULL, 10);
	at = copy ? field(copy, "NSpid") : NULL;
	/* One number for each namespace, the innermost last. */
	while (at && *at && *at != '\n') {
		char *end;
		long pid = strtol(at, &end, 10);

		if (end == at)
			break;
		ret->ns_pid = (pid_t)pid;
		at = end;
	}
	free(copy);
}

void place_parse_group(const char *text, size_t len, struct str *ret_group)
{
	const char *end = text + len, *first = NULL, *best = NULL;
	const char *stop;

	/* Lines are ID:CONTROLLERS:PATH; the unified one's begin with "0::". */
	for (const char *at = text; at < end;) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));
		size_t n = (size_t)((line_end ? line_end : end) - at);
		const char *one = memchr(at, ':', n);
		const char *two =
			one ? memchr(one + 1, ':', n - (size_t)(one + 1 - at))
			    : NULL;

		if (two && !first)
			first = two + 1;
		if (two && n >= 3 && !strncmp(at, "0::", 3))
			best = two + 1;
		at = line_end ? line_end + 1 : end;
	}
	if (!best || best == end || *best == '\n')
		best = first;
	if (!best)
		return;
	stop = memchr(best, '\n', (size_t)(end - best));
	str_add(ret_group, best, (size_t)((stop ? stop : end) - best));
}

uint64_t place_pid_ns(int root, pid_t pid)
{
	char path[64];
	struct stat st;

	(void)snprintf(path, sizeof(path), "%d/ns/pid", pid);
	return fstatat(root, path, &st, 0) == 0 ? st.st_ino : 0;
}

void place_look(int root, pid_t pid, struct place *ret, struct str *ret_group)
{
	char text[TEXT_MAX];
	size_t len;

	*ret = (struct place){ 0 };
	if (!task_there(pid, pid))
		return;
	len = read_file(root, pid, "status", text);
	place_parse_status(text, len, ret);
	len = read_file(root, pid, "cgroup", text);
	place_parse_group(text, len, ret_group);
	ret->pid_ns = place_pid_ns(root, pid);
}
