/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SESSION_CHECK_H
#define SESSION_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "linux/machine.h"
#include "linux/trial.h"

/*
 * Append line number @index (0, 1, ...) of what forkflame_check writes: what @m and
 * @t mean for a recording. Pure. Returns false, with nothing added, when there are
 * no more.
 */
bool check_line(const struct machine *m, const struct trials *t, size_t index,
		struct str *to);

/* Whether a command that one starts can be recorded. */
bool check_able(const struct machine *m, const struct trials *t);

#endif
