/* SPDX-License-Identifier: Apache-2.0 */
#include "linux/sched.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/outcome.h"
#include "linux/task.h"

static int outcome_of(int code)
{
	if (code == ENOENT || code == ESRCH)
		return OUT_GONE;
	if (code == EACCES || code == EPERM)
		return OUT_DENIED;
	return -code;
}

int sched_open(int root, pid_t pid, pid_t tid, const char *name, int *ret)
{
	char path[64];
	int fd;

	if (!task_there(pid, tid))
		return OUT_GONE;
	(void)snprintf(path, sizeof(path), "%d/task/%d/%s", pid, tid, name);
	fd = openat(root, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return outcome_of(errno);
	*ret = fd;
	return 0;
}

/* Take one decimal number off the front of *@at. */
static bool number(const char **at, const char *end, uint64_t *ret)
{
	const char *p = *at;
	uint64_t value = 0;

	while (p < end && *p == ' ')
		p++;
	if (p == end || *p < '0' || *p > '9')
		return false;
	for (; p < end && *p >= '0' && *p <= '9'; p++)
		value = value * 10 + (uint64_t)(*p - '0');
	*at = p;
	*ret = value;
	return true;
}

int sched_read(int fd, struct sched_account *ret)
{
	struct sched_account account;
	char text[96];
	const char *at = text;
	ssize_t len = pread(fd, text, sizeof(text), 0);

	if (len < 0)
		return outcome_of(errno);
	if (!number(&at, text + len, &account.cpu_ns) ||
	    !number(&at, text + len, &account.wait_ns) ||
	    !number(&at, text + len, &account.runs))
		return OUT_UNKNOWN;
	/* Whoever can be asked about has run, if only to be born. */
	if (account.cpu_ns == 0 && account.runs == 0 && account.wait_ns == 0)
		return OUT_UNKNOWN;
	*ret = account;
	return 0;
}

int sched_asleep(int fd)
{
	char text[16];
	ssize_t len = pread(fd, text, sizeof(text), 0);

	if (len < 0)
		return outcome_of(errno);
	if (len >= 7 && !memcmp(text, "running", 7))
		return OUT_BUSY;
	return len ? 0 : OUT_GONE;
}
