/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/targets.h"

#include <errno.h>
#include <string.h>

#include "cli/messages.h"
#include "cli/record.h"

int targets_take_in(struct forkflame *ff, const struct options *options,
		    int *ret_status)
{
	size_t taken = 0;
	int first = 0;
	int r = options->all ? forkflame_add_all(ff) : 0;

	if (r < 0)
		message_say("%s", forkflame_strerror(ff));
	for (size_t i = 0; i < options->n_pids; i++) {
		r = forkflame_add_pid(ff, options->pids[i]);
		taken += r == 0;
		if (r == 0)
			continue;
		message_say("%s", forkflame_strerror(ff));
		/* What it is refused for says more than that one has gone. */
		if (!first || r == -EACCES || r == -EPERM)
			first = r;
		if (r != -ESRCH && r != -EACCES && r != -EPERM)
			break;
	}
	if (options->n_pids && !taken)
		r = first;
	else if (r == -ESRCH || r == -EACCES || r == -EPERM)
		r = 0;
	if (r < 0)
		*ret_status = r == -EACCES || r == -EPERM ? EXIT_DENIED
							  : EXIT_NOTHING;
	return r;
}
