/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROFILE_TABLE_H
#define PROFILE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "profile/out.h"
#include "profile/roles.h"

/* The parts of out_table: what they share, and what each adds. */

#define TABLE_WIDTH 100 /* columns of a line; most terminals have them */

struct table {
	const struct history *h;
	const struct query *query;
	const struct aggregate *agg;
	const struct out_options *options;
	struct roles roles;
	struct selection selection;
	struct str to;
	struct str cell; /* for table_cell alone */
};

enum table_fit {
	FIT_END,        /* what does not fit is cut off behind, */
	FIT_START,      /* or before: of a path, the name counts */
	FIT_RAGGED = 2, /* added: not padded with blanks */
};

enum table_look {
	LOOK_PLAIN,
	LOOK_BOLD,
	LOOK_DIM,
	LOOK_RED,
	LOOK_GREEN,
	LOOK_YELLOW,
};

/* How all that follows looks, where colours are shown. */
void table_look(struct table *t, enum table_look look);

/* A headline, with an empty line before it. */
void table_headline(struct table *t, const char *text);

/*
 * A name of a target in @width columns, escaped; never cut within a character.
 * @fit is an enum table_fit.
 */
void table_cell(struct table *t, const char *bytes, size_t len, size_t width,
		int fit);

/* The same of a string of the history. */
void table_string(struct table *t, uint32_t id, size_t width, int fit);

/* The same of a command line, without the folder of the program. */
void table_command(struct table *t, uint32_t id, size_t width, int fit);

/* How many columns a string takes, as table_cell would write it. */
size_t table_columns(struct table *t, uint32_t id);

/* Seconds, to the right of @width: three digits at least, so that they compare. */
void table_seconds(struct table *t, uint64_t ns, int width);

/* @part of @whole in percent, to the right of @width; "-" of nothing. */
void table_percent(struct table *t, uint64_t part, uint64_t whole, int width);

/* Each part ends with a line's end, and returns 0 or -ENOMEM. */
int table_header(struct table *t);
int table_functions(struct table *t);
int table_processes(struct table *t);
int table_pools(struct table *t);

#endif
