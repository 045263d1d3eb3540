/* SPDX-License-Identifier: Apache-2.0 */
#include "linux/perfwatch.h"

#include <errno.h>
#include <unistd.h>

int perfwatch_add(struct perfwatch *w, const struct perfring *rings, size_t n,
		  enum perfring_what what, pid_t tid)
{
	size_t before = w->fds.n;
	int r = 0;

	if (!vec_reserve(&w->fds, n))
		return -ENOMEM;
	for (size_t i = 0; i < n && r >= 0; i++) {
		r = perfring_also(&rings[i], what, tid);
		if (r >= 0)
			w->fds.at[w->fds.n++] = r;
	}
	if (r >= 0)
		return 0;
	while (w->fds.n > before)
		(void)close(w->fds.at[--w->fds.n]);
	return r;
}

void perfwatch_close(struct perfwatch *w)
{
	for (size_t i = 0; i < w->fds.n; i++)
		(void)close(w->fds.at[i]);
	vec_free(&w->fds);
}
