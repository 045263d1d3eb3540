/* SPDX-License-Identifier: Apache-2.0 */
#include "linux/denial.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* The setting of Yama, which keeps all but ancestors from tracing; 0 without. */
static int yama_scope(void)
{
	FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int scope = 0;

	if (file && fscanf(file, "%d", &scope) != 1)
		scope = 0;
	if (file)
		(void)fclose(file);
	return scope;
}

int denial_explain(const struct procfs *fs, pid_t pid, struct error *err)
{
	pid_t tracer = 0;
	uid_t uid = 0;
	int scope = yama_scope();

	(void)procfs_tracer(fs, pid, &tracer, &uid, NULL);
	if (tracer)
		return error_set(err, -EACCES,
				 "process %d is being traced by process %d: "
				 "end that first",
				 pid, tracer);
	if (uid != geteuid())
		return error_set(err, -EACCES,
				 "process %d belongs to user %u: run forkflame "
				 "as root, or as that user",
				 pid, uid);
	if (scope == 1)
		return error_set(err, -EACCES,
				 "process %d: kernel.yama.ptrace_scope=1 lets "
				 "only ancestors trace: run as root, start it "
				 "with 'forkflame record -- CMD', or "
				 "'sudo sysctl kernel.yama.ptrace_scope=0'",
				 pid);
	if (scope > 1)
		return error_set(err, -EACCES,
				 "process %d: kernel.yama.ptrace_scope=%d lets "
				 "%s trace",
				 pid, scope,
				 scope == 2 ? "only root" : "nobody");
	return error_set(
		err, -EACCES,
		"process %d may not be read: it is not dumpable, or the "
		"capability SYS_PTRACE is missing (docker run "
		"--cap-add=SYS_PTRACE)",
		pid);
}
