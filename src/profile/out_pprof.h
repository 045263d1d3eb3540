/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROFILE_OUT_PPROF_H
#define PROFILE_OUT_PPROF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/str.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "profile/filter.h"
#include "profile/gzip.h"
#include "profile/history.h"
#include "profile/query.h"

/* What the parts of the pprof writer share; see out_pprof.c. */

#define PPROF_UNSET UINT32_MAX

enum sample_field {
	SAMPLE_LOCATION = 1,
	SAMPLE_VALUE = 2,
	SAMPLE_LABEL = 3,
};

/* A Sample to be: what has been added up of a stack under some labels. */
struct sum {
	uint32_t stack;  /* of the filter */
	uint32_t labels; /* id in pprof.labels */
	struct weight weight;
	uint64_t gil_ns;
};

struct pprof {
	const struct history *h;
	const struct query *query;
	struct filter *filter;
	bool gil;               /* there is a fourth value */
	struct strtab *strings; /* string_table: 0 is "" */
	struct strtab *labels;  /* different sets of labels, as bytes */
	uint32_t *string_of;    /* number in strings, by the history's */
	uint32_t *labels_of;    /* id in labels, by thread */
	struct VEC(struct sum) sums;
	struct map sum_of;      /* labels << 32 | stack: index */
	struct map function_of; /* function << 32 | file: Function id */
	bool *located;          /* written already; by frame of the filter */
	bool outside;           /* the Location of no frame has been written */
	struct VEC(uint64_t) path;    /* Locations of a stack */
	struct str text, part, whole; /* scratch, from the inside out */
	struct str to;
	struct gzip *gz;
};

/* --- out_pprof_names.c: strings and labels
 *
 * Each returns a number in p->strings, or STRTAB_NONE with p->to.failed set.
 */

/* A text of ours. */
uint32_t pprof_literal(struct pprof *p, const char *text);

/* A text of others: made valid UTF-8, and safe to print. */
uint32_t pprof_escaped(struct pprof *p, const char *bytes, size_t len);

/* A string of the history, likewise. */
uint32_t pprof_string(struct pprof *p, uint32_t string);

/* The labels of a thread, an id in p->labels; STRTAB_NONE without memory. */
uint32_t pprof_labels(struct pprof *p, uint32_t thread);

#endif
