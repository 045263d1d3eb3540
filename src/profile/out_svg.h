/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROFILE_OUT_SVG_H
#define PROFILE_OUT_SVG_H

#include <stdint.h>

#include "base/str.h"
#include "profile/aggregate.h"
#include "profile/out.h"

/* What the flame graph's picture (out_svg.c) says in words and colours. */

struct svg {
	const struct aggregate *agg;
	const struct out_options *options;
	uint64_t *own, *total; /* by node, in the weight that is shown */
	uint64_t all;
	uint64_t *base_own, *base_total; /* with options->diff, else NULL */
	uint64_t base_all;
	struct str scratch;
	struct str to; /* what is added goes here, as XML */
};

/*
 * The class, of svg.css, that a block has its colour from. It goes by the names
 * only (a function has the same colour in every picture), or with options->diff by
 * how the weight has changed. @node: AGGREGATE_NONE is the whole.
 */
void svg_class(const struct svg *svg, uint32_t node, char ret_class[16]);

/* <title> of a block: its name, the place of its frame, its numbers: a line each. */
void svg_title(struct svg *svg, uint32_t node);

/* <title> of what was too narrow to be shown. */
void svg_rest_title(struct svg *svg, uint64_t weight);

/* As much of a block's name as fits in @width pixels. Below SVG_LABEL_FROM that is
 * so little that it says nothing. */
#define SVG_LABEL_FROM 28.0
void svg_label(struct svg *svg, uint32_t node, double width);

/* Texts: above the picture, and below it. */
void svg_headline(struct svg *svg);
void svg_facts(struct svg *svg);
void svg_footnote(struct svg *svg, uint64_t left_out);

#endif
