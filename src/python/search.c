/* SPDX-License-Identifier: Apache-2.0 */
#include "python/search.h"

#include <ctype.h>
#include <string.h>

#include "base/outcome.h"
#include "python/runtime.h"

/* The data is read in pieces of this size. */
#define PIECE 16384
#define WORDS (PIECE / 8)

/* Places that may be it are looked at so many at a time. */
#define BATCH 256

static void tag_take(struct search_tag *tag, unsigned major, unsigned minor)
{
	if (tag->major && (tag->major != major || tag->minor != minor))
		tag->torn = true;
	tag->major = major;
	tag->minor = minor;
}

/* What follows "cpython-": "38", "311", "313t", and then its end or a '-'. */
static void take_modern(struct search_tag *tag, const char *at, const char *end)
{
	unsigned minor = 0, digits = 0;

	if (at == end || *at++ != '3')
		return;
	for (; at < end && digits < 2 && isdigit((unsigned char)*at); at++) {
		minor = minor * 10 + (unsigned)(*at - '0');
		digits++;
	}
	if (at < end && (*at == 't' || *at == 'm'))
		at++;
	if (digits && at < end && (*at == '\0' || *at == '-'))
		tag_take(tag, 3, minor);
}

/* What follows "lib/python": "2.7" and its end. */
static void take_old(struct search_tag *tag, const char *at, const char *end)
{
	if (end - at >= 4 && at[0] == '2' && at[1] == '.' &&
	    isdigit((unsigned char)at[2]) && at[3] == '\0')
		tag_take(tag, 2, (unsigned)(at[2] - '0'));
}

static void search_word(struct search_tag *tag, const char *at, size_t len,
			const char *word,
			void (*take)(struct search_tag *, const char *,
				     const char *))
{
	const char *end = at + len;
	size_t n = strlen(word);

	while ((at = memmem(at, (size_t)(end - at), word, n)) != NULL) {
		at += n;
		take(tag, at, end);
	}
}

void search_text(struct search_tag *tag, const void *bytes, size_t len)
{
	search_word(tag, bytes, len, "cpython-", take_modern);
	search_word(tag, bytes, len, "lib/python", take_old);
}

/* Read a piece; what cannot be read of it is zeroes. */
static int read_piece(const struct mem *mem, uint64_t at, uint64_t *words,
		      size_t n)
{
	int r;

	memset(words, 0, n * sizeof(*words));
	r = mem_read(mem, at, words, n * sizeof(*words));
	return r == OUT_TORN ? OUT_OK : r;
}

static bool may_point(uint64_t value)
{
	return value % 8 == 0 && value > 0xffff && value < 1ull << 47;
}

/* Places that may be it, each with the interpreter that it names. */
struct places {
	uint64_t at[BATCH];     /* of the head of the list */
	uint64_t interp[BATCH]; /* the first of the list */
	uint64_t thread[BATCH], owner[BATCH], pthread[BATCH], self[BATCH];
	size_t n;
};

/* Read @to[i] at @base[i] + @offset for all; keep those that satisfy a check. */
static int read_all(const struct mem *mem, struct places *p,
		    const uint64_t *base, uint64_t offset, uint64_t *to)
{
	struct mem_range ranges[BATCH];
	int r;

	for (size_t i = 0; i < p->n; i++) {
		to[i] = 0;
		ranges[i] = (struct mem_range){ .addr = base[i] + offset,
						.buf = &to[i],
						.len = sizeof(to[i]) };
	}
	r = mem->readv(mem->ctx, ranges, p->n);
	for (size_t i = 0; i < p->n; i++)
		if (ranges[i].got < sizeof(to[i]))
			to[i] = 0;
	return r == OUT_TORN ? OUT_OK : r;
}

static void move_place(struct places *p, size_t to, size_t from)
{
	p->at[to] = p->at[from];
	p->interp[to] = p->interp[from];
	p->thread[to] = p->thread[from];
	p->pthread[to] = p->pthread[from];
}

/* Keep the places whose @value points somewhere, or (@is) is what it must be. */
static void keep(struct places *p, const uint64_t *value, const uint64_t *is)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->n; i++) {
		if (is ? value[i] != is[i] : !may_point(value[i]))
			continue;
		move_place(p, kept++, i);
	}
	p->n = kept;
}

/* Which of the places is it? None: p->n is 0 then. */
static int judge(const struct mem *mem, const struct layout *layout,
		 struct places *p)
{
	int r = read_all(mem, p, p->interp, layout->interp.thread_head,
			 p->thread);

	if (r)
		return r;
	keep(p, p->thread, NULL);
	r = read_all(mem, p, p->thread, layout->thread.interp, p->owner);
	if (r)
		return r;
	keep(p, p->owner, p->interp);
	r = read_all(mem, p, p->thread, layout->thread.thread_id, p->pthread);
	if (r)
		return r;
	keep(p, p->pthread, NULL);
#ifdef __x86_64__
	/* glibc and musl: the first word of a thread's structure is its address. */
	r = read_all(mem, p, p->pthread, 0, p->self);
	if (r)
		return r;
	keep(p, p->self, p->pthread);
#endif
	return OUT_OK;
}

/*
 * Up to 3.6 any word may be the list's head. Since then a second word behind it is
 * for the first of all interpreters, which is the last of the list.
 */
static bool is_place(const struct layout *layout, const uint64_t *words)
{
	return may_point(words[0]) &&
	       (!layout->runtime.exists || may_point(words[1]));
}

static bool ends_in_main(const struct mem *mem, const struct layout *layout,
			 uint64_t interp, uint64_t main)
{
	uint64_t next = interp;

	for (int i = 0; i < RUNTIME_MAX_INTERPS && next; i++) {
		interp = next;
		if (mem_read_u64(mem, interp + layout->interp.next, &next))
			return false;
	}
	return !next && interp == main;
}

/* Is the list's head among the places? They are done with. */
static int take_places(const struct mem *mem, struct places *p,
		       struct runtime *rt)
{
	const struct layout *layout = &rt->layout;
	uint64_t head = layout->runtime.interp_head, main;
	int r = p->n ? judge(mem, layout, p) : OUT_OK;

	for (size_t i = 0; !r && i < p->n; i++) {
		if (layout->runtime.exists &&
		    (mem_read_u64(mem, p->at[i] + 8, &main) ||
		     !ends_in_main(mem, layout, p->interp[i], main)))
			continue;
		rt->address = p->at[i] - head;
		return OUT_OK;
	}
	p->n = 0;
	return r ? r : OUT_NOT_YET;
}

int search_interp(const struct mem *mem, uint64_t from, uint64_t len,
		  struct runtime *rt)
{
	uint64_t words[WORDS + 1];
	struct places p = { .n = 0 };
	int r = OUT_NOT_YET;

	if (len > SEARCH_MAX_BYTES)
		len = SEARCH_MAX_BYTES;
	from += -from % 8;
	for (uint64_t done = 0; done < len; done += PIECE) {
		r = read_piece(mem, from + done, words, WORDS + 1);
		if (r)
			return r;
		for (size_t i = 0; i < WORDS; i++) {
			if (is_place(&rt->layout, words + i)) {
				p.at[p.n] = from + done + i * 8;
				p.interp[p.n++] = words[i];
			}
			if (p.n < BATCH && i + 1 < WORDS)
				continue;
			r = take_places(mem, &p, rt);
			if (r != OUT_NOT_YET)
				return r;
		}
	}
	return OUT_NOT_YET;
}

int search_cookie(const struct mem *mem, uint64_t from, uint64_t len,
		  uint64_t *ret)
{
	static const char cookie[] = "xdebugpy";
	uint64_t words[WORDS], is;
	int r;

	memcpy(&is, cookie, sizeof(is));
	if (len > SEARCH_MAX_BYTES)
		len = SEARCH_MAX_BYTES;
	from += -from % 8;
	for (uint64_t done = 0; done < len; done += PIECE) {
		r = read_piece(mem, from + done, words, WORDS);
		if (r)
			return r;
		for (size_t i = 0; i < WORDS; i++) {
			if (words[i] != is)
				continue;
			*ret = from + done + i * 8;
			return OUT_OK;
		}
	}
	return OUT_NOT_YET;
}
