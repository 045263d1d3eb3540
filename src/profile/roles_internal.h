/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROFILE_ROLES_INTERNAL_H
#define PROFILE_ROLES_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/history.h"
#include "profile/query.h"
#include "profile/roles.h"

/* What a process is at, by its stack. */
enum stage {
	STAGE_STARTING, /* imports, or what Python does before */
	STAGE_READY,    /* waits to be given work */
	STAGE_WORKING,
};

/* Tells stages, and remembers them. Zeroed it is empty. */
struct stages {
	const struct history *h;
	uint8_t *frames; /* by number; 0: not looked at yet */
	uint8_t *stacks;
};

int stages_make(struct stages *ret, const struct history *h);
void stages_free(struct stages *stages);
enum stage stages_of(struct stages *stages, uint32_t stack);

/* Is @file one of Python's own that starts and runs processes and threads? */
bool stages_is_python(const struct strtab *strings, uint32_t file);

/* Is @file part of what hands work to a pool's members? */
bool stages_is_pool(const struct strtab *strings, uint32_t file);

/* Where members of a role waited, and how long. */
struct role_leaf {
	uint32_t role;
	struct role_wait wait;
};

/*
 * Read all slices of the selection once: into roles->members, whose roles are
 * set, and into the sums of the roles. Returns 0 or -ENOMEM.
 */
int roles_read(struct roles *roles, const struct selection *selection);

/*
 * What is told of a role when its members are known: curve, spread, stragglers,
 * exits. Returns 0 or -ENOMEM.
 */
int role_finish(struct role *role, const struct roles *roles,
		const struct history *h);

#endif
