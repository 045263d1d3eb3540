/* SPDX-License-Identifier: Apache-2.0 */
#include "linux/urgency.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "linux/task.h"

/* Each of these calls is about one thread, not the process, on Linux. */

void urgency_raise(struct urgency *before)
{
	struct sched_param first = { .sched_priority = 1 };
	id_t self = (id_t)task_self();

	if (before->raised)
		return;
	before->policy = sched_getscheduler(0);
	before->nice = getpriority(PRIO_PROCESS, self);
	before->slack = prctl(PR_GET_TIMERSLACK);
	before->raised = before->policy >= 0;
	before->first = before->raised &&
			sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK,
					   &first) == 0;
	if (before->raised && !before->first)
		(void)setpriority(PRIO_PROCESS, self, -20);
	if (before->raised)
		(void)prctl(PR_SET_TIMERSLACK, 1);
}

void urgency_restore(struct urgency *before)
{
	struct sched_param none = { 0 };

	if (!before->raised)
		return;
	/* The reset at a fork may be kept, but not taken back: no matter here. */
	if (sched_setscheduler(0, before->policy, &none) < 0)
		(void)sched_setscheduler(
			0, before->policy | SCHED_RESET_ON_FORK, &none);
	(void)setpriority(PRIO_PROCESS, (id_t)task_self(), before->nice);
	if (before->slack > 0)
		(void)prctl(PR_SET_TIMERSLACK, before->slack);
	before->raised = false;
}

pid_t urgency_reap(pid_t pid, int *ret_status, int flags)
{
	struct sched_param none = { 0 }, first = { .sched_priority = 1 };
	int policy = sched_getscheduler(0);
	bool urgent = policy == SCHED_FIFO ||
		      policy == (SCHED_FIFO | SCHED_RESET_ON_FORK);
	pid_t got;

	if (urgent)
		(void)sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK,
					 &none);
	got = waitpid(pid, ret_status, flags);
	if (urgent)
		(void)sched_setscheduler(0, policy, &first);
	return got;
}
