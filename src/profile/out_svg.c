/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/out_svg.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "profile/svg.h"

/*
 * A flame graph as a picture: the root at the top, below each block what it
 * called, the heaviest first; as wide as its weight. It needs no script: every
 * block has its numbers in a title, which is shown as a tooltip. svg.js makes it
 * zoom and search where scripts may run.
 *
 * What flows: own weights become totals; blocks that would be narrower than a
 * tenth of a pixel are left out, those of one parent as one block without a name;
 * the others are sorted by their parents, and written from the root on, a parent
 * before what it called: svg.js relies on that order.
 */

#define WIDTH 1200.0 /* of the picture, in pixels */
#define EDGE 10.0    /* left and right of the blocks */
#define TOP 66       /* above them */
#define ROW 18
#define BOTTOM 30
#define LEAST 0.1 /* pixels: narrower blocks are left out */
#define CHUNK (64 * 1024)

#define ROOT AGGREGATE_NONE /* in place of a node: all of them */

/* A node that is wide enough to be seen. */
struct block {
	uint32_t parent; /* node, or ROOT */
	uint32_t node;
	uint64_t total;
};

/* A block to be written, with all that is below it. */
struct place {
	uint32_t node; /* or ROOT */
	uint32_t row;
	uint64_t x; /* where it begins, in weight */
};

struct picture {
	struct svg svg;
	struct VEC(struct block) blocks; /* by parent, the heaviest first */
	uint32_t *first; /* by node: its first child in blocks; NONE */
	uint64_t *shown; /* by node: total of its children in blocks */
	uint32_t root_first;
	uint64_t root_shown;
	uint32_t rows;
	uint64_t left_out; /* weight that is in no block of its own */
	struct VEC(struct place) todo;
};

static int block_order(const void *a, const void *b)
{
	const struct block *x = a, *y = b;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static double pixels(const struct picture *p, uint64_t weight)
{
	double all = p->svg.all ? (double)p->svg.all : 1;

	return (double)weight / all * (WIDTH - 2 * EDGE);
}

/* Own weights in @value, and, added up from the leaves, totals. */
static int add_up(const struct picture *p, bool base, uint64_t **ret_own,
		  uint64_t **ret_total, uint64_t *ret_all)
{
	const struct aggregate *agg = p->svg.agg;
	uint32_t count = aggregate_count(agg);
	size_t bytes = ((size_t)count + 1) * sizeof(uint64_t);
	uint64_t *own = malloc(bytes);
	uint64_t *total = malloc(bytes);
	int r;

	*ret_own = own;
	*ret_total = total;
	if (!own || !total)
		return -ENOMEM;
	r = out_weights(agg, p->svg.options->value, base, own);
	if (r)
		return r;
	memcpy(total, own, count * sizeof(*own));
	for (uint32_t i = count; i-- > 0;) {
		uint32_t parent = aggregate_node(agg, i)->parent;

		*(parent == AGGREGATE_NONE ? ret_all : &total[parent]) +=
			total[i];
	}
	return 0;
}

/* Find the blocks that are wide enough, and what becomes of the others. */
static int choose_blocks(struct picture *p)
{
	const struct aggregate *agg = p->svg.agg;
	const uint64_t *total = p->svg.total;
	uint32_t count = aggregate_count(agg);
	uint32_t *row = malloc(((size_t)count + 1) * sizeof(*row));
	int r = -ENOMEM;

	if (!row)
		goto out;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t parent = aggregate_node(agg, i)->parent;
		bool top = parent == AGGREGATE_NONE;

		/* Below one that is left out is nothing: row 0 says so. */
		row[i] = top ? 1 : row[parent] ? row[parent] + 1 : 0;
		if (!row[i])
			continue;
		if (!total[i] || pixels(p, total[i]) < LEAST) {
			p->left_out += total[i];
			row[i] = 0;
			continue;
		}
		if (row[i] >= p->rows)
			p->rows = row[i] + 1;
		*(top ? &p->root_shown : &p->shown[parent]) += total[i];
		if (!vec_push(&p->blocks,
			      ((struct block){ .parent = parent,
					       .node = i,
					       .total = total[i] })))
			goto out;
	}
	r = 0;
out:
	free(row);
	return r;
}

static void sort_blocks(struct picture *p)
{
	p->root_first = AGGREGATE_NONE;
	if (p->blocks.n)
		qsort(p->blocks.at, p->blocks.n, sizeof(*p->blocks.at),
		      block_order);
	for (uint32_t i = (uint32_t)p->blocks.n; i-- > 0;) {
		uint32_t parent = p->blocks.at[i].parent;

		*(parent == ROOT ? &p->root_first : &p->first[parent]) = i;
	}
}

/* A number of pixels, in hundredths: no locale has a say in it. */
static void put_pixels(struct str *to, double value)
{
	uint64_t hundredths = (uint64_t)(value * 100 + 0.5);

	str_printf(to, "%" PRIu64 ".%02u", hundredths / 100,
		   (unsigned)(hundredths % 100));
}

/* Begin a block: what is in it is added by the caller, who ends it with </g>. */
static void put_group(struct picture *p, const char *class, uint64_t x,
		      uint64_t weight)
{
	str_printf(&p->svg.to,
		   "<g class=\"%s\" data-x=\"%" PRIu64 "\" data-w=\"%" PRIu64
		   "\"",
		   class, x, weight);
}

static void put_rect(struct picture *p, uint32_t row, uint64_t x,
		     uint64_t weight)
{
	struct str *to = &p->svg.to;

	str_puts(to, "<rect x=\"");
	put_pixels(to, EDGE + pixels(p, x));
	str_printf(to, "\" y=\"%u\" width=\"", TOP + row * ROW);
	put_pixels(to, pixels(p, weight));
	str_printf(to, "\" height=\"%u\"/>", ROW - 1);
}

static void put_block(struct picture *p, const struct place *place,
		      uint64_t weight)
{
	struct str *to = &p->svg.to;
	char class[16];

	svg_class(&p->svg, place->node, class);
	put_group(p, class, place->x, weight);
	str_puts(to, ">");
	svg_title(&p->svg, place->node);
	put_rect(p, place->row, place->x, weight);
	if (pixels(p, weight) >= SVG_LABEL_FROM) {
		str_puts(to, "<text x=\"");
		put_pixels(to, EDGE + pixels(p, place->x) + 3);
		str_printf(to, "\" y=\"%u\">",
			   TOP + place->row * ROW + ROW - 5);
		svg_label(&p->svg, place->node, pixels(p, weight));
		str_puts(to, "</text>");
	}
	str_puts(to, "</g>\n");
}

/* The children of one block that are too narrow, as one. */
static void put_rest(struct picture *p, uint32_t row, uint64_t x,
		     uint64_t weight)
{
	if (pixels(p, weight) < LEAST)
		return;
	put_group(p, "rest", x, weight);
	str_puts(&p->svg.to, ">");
	svg_rest_title(&p->svg, weight);
	put_rect(p, row, x, weight);
	str_puts(&p->svg.to, "</g>\n");
}

/* Write one block, and note its children: the heaviest is to be next. */
static int put_place(struct picture *p, struct place place)
{
	const struct svg *svg = &p->svg;
	bool root = place.node == ROOT;
	uint64_t total = root ? svg->all : svg->total[place.node];
	uint64_t own = root ? 0 : svg->own[place.node];
	uint64_t shown = root ? p->root_shown : p->shown[place.node];
	size_t first = root ? p->root_first : p->first[place.node];
	size_t end = first;
	uint64_t x = place.x + shown;

	put_block(p, &place, total);
	put_rest(p, place.row + 1, x, total - own - shown);
	if (first == AGGREGATE_NONE)
		return 0;
	while (end < p->blocks.n && p->blocks.at[end].parent == place.node)
		end++;
	if (!vec_reserve(&p->todo, end - first))
		return -ENOMEM;
	while (end-- > first) {
		x -= p->blocks.at[end].total;
		p->todo.at[p->todo.n++] = (struct place){
			.node = p->blocks.at[end].node,
			.row = place.row + 1,
			.x = x,
		};
	}
	return 0;
}

static int pass(struct picture *p, size_t least, out_write write, void *ctx)
{
	int r = 0;

	if (p->svg.to.failed)
		return -ENOMEM;
	if (p->svg.to.len >= least)
		r = write(ctx, p->svg.to.at, p->svg.to.len);
	if (p->svg.to.len >= least)
		str_clear(&p->svg.to);
	return r;
}

static void put_head(struct picture *p)
{
	struct str *to = &p->svg.to;
	unsigned height = TOP + p->rows * ROW + BOTTOM;

	str_puts(to, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	str_printf(to,
		   "<svg xmlns=\"http://www.w3.org/2000/svg\" id=\"flame\" "
		   "width=\"%.0f\" height=\"%u\" viewBox=\"0 0 %.0f %u\" "
		   "font-family=\"ui-monospace, DejaVu Sans Mono, Menlo, "
		   "Consolas, monospace\" font-size=\"12\" data-top=\"%u\" "
		   "data-row=\"%u\" data-total=\"%" PRIu64 "\">\n",
		   WIDTH, height, WIDTH, height, TOP, ROW, p->svg.all);
	str_puts(to, "<style><![CDATA[\n");
	str_add(to, svg_css, svg_css_len);
	str_puts(to, "]]></style>\n<rect class=\"back\" width=\"100%\" "
		     "height=\"100%\"/>\n");
	str_printf(to, "<text class=\"title words\" x=\"%.0f\" y=\"27\">",
		   EDGE);
	svg_headline(&p->svg);
	str_printf(to,
		   "</text>\n<text class=\"soft words\" x=\"%.0f\" y=\"48\">",
		   EDGE);
	svg_facts(&p->svg);
	str_puts(to, "</text>\n<g id=\"frames\">\n");
}

static void put_foot(struct picture *p)
{
	struct str *to = &p->svg.to;

	str_printf(to,
		   "</g>\n<text id=\"details\" class=\"soft words\" "
		   "x=\"%.0f\" y=\"%u\">",
		   EDGE, TOP + p->rows * ROW + 19);
	svg_footnote(&p->svg, p->left_out);
	str_puts(to, "</text>\n<script><![CDATA[\n");
	str_add(to, svg_js, svg_js_len);
	str_puts(to, "]]></script>\n</svg>\n");
}

static int write_picture(struct picture *p, out_write write, void *ctx)
{
	int r = 0;

	put_head(p);
	if (p->svg.all && !vec_push(&p->todo, ((struct place){ .node = ROOT })))
		r = -ENOMEM;
	while (!r && p->todo.n) {
		r = put_place(p, p->todo.at[--p->todo.n]);
		if (!r)
			r = pass(p, CHUNK, write, ctx);
	}
	if (r)
		return r;
	put_foot(p);
	return pass(p, 0, write, ctx);
}

int out_svg(const struct aggregate *agg, const struct out_options *options,
	    out_write write, void *ctx)
{
	struct picture p = { .svg = { .agg = agg, .options = options },
			     .rows = 1 };
	struct svg *svg = &p.svg;
	size_t count = (size_t)aggregate_count(agg) + 1;
	int r;

	r = add_up(&p, false, &svg->own, &svg->total, &svg->all);
	if (!r && options->diff)
		r = add_up(&p, true, &svg->base_own, &svg->base_total,
			   &svg->base_all);
	if (r)
		goto out;
	r = -ENOMEM;
	p.first = malloc(count * sizeof(*p.first));
	p.shown = calloc(count, sizeof(*p.shown));
	if (!p.first || !p.shown)
		goto out;
	memset(p.first, 0xff, count * sizeof(*p.first));
	r = choose_blocks(&p);
	if (r)
		goto out;
	sort_blocks(&p);
	r = write_picture(&p, write, ctx);
out:
	free(svg->own);
	free(svg->total);
	free(svg->base_own);
	free(svg->base_total);
	free(p.first);
	free(p.shown);
	vec_free(&p.blocks);
	vec_free(&p.todo);
	str_free(&svg->scratch);
	str_free(&svg->to);
	return r;
}
