/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_CODECHECK_H
#define BASE_CODECHECK_H

#include <stdint.h>

/*
 * What a code object was at a moment, in 64 bits. The kernel's program makes this number
 * in the very interrupt in which it reads a frame; we make it of what we know of the
 * object at that address. Equal: it is the same, whatever has become of the address
 * since.
 *
 * From 3.12 it is the number that the interpreter gives each object that it makes: of
 * that process. Before, it is made of the object's fields (all that python/code
 * compares), and of its names' lengths and hashes, or the first characters where the
 * hash was never computed.
 *
 * Compiled for the kernel's machine too: no calls, no types of a library.
 */

/* The fields are read as one stretch of so many bytes at most, in words of 8. */
#define CODECHECK_WORDS 32u

/* Of a string without a hash: so many bytes, in words of 8. */
#define CODECHECK_LEAD 4u

#define CODECHECK_NAMES 3u

/* Where things are in a code object, and in a string. All are offsets in bytes. */
struct codeplan {
	uint16_t from, words; /* the stretch */
	uint16_t body; /* what counts of it, besides its first 24 bytes: from there on */
	uint16_t names[CODECHECK_NAMES]; /* in words from the stretch's start */
	uint16_t n_names;
	uint16_t version; /* of the object's own number, an int; 0: it has none */
	uint16_t length, hash, lead; /* in a string */
};

static inline uint64_t codecheck_mix(uint64_t check, uint64_t word)
{
	check = (check ^ word) * 0x9e3779b97f4a7c15u;
	return check ^ check >> 29;
}

/*
 * words[at], for an index that is in range anyhow: said in a way that no compiler
 * takes away again, since the kernel's verifier has to see it.
 */
static inline uint64_t codecheck_word(const uint64_t *words, uint32_t at)
{
	__asm__("" : "+r"(at));
	return words[at & (CODECHECK_WORDS - 1)];
}

/* The fields: the first 24 bytes of the stretch (type and size), then its body. */
static inline uint64_t codecheck_fields(const struct codeplan *plan,
					const uint64_t *words)
{
	uint64_t check = 1, other = 2;
	uint32_t at = plan->body / 8u;
	uint32_t end = plan->words < CODECHECK_WORDS ? plan->words
						     : CODECHECK_WORDS;

	for (uint32_t i = 0; i < 3; i++)
		check = codecheck_mix(check, words[i]);
	/* It may begin in the middle of a word: the upper half counts. */
	if (plan->body % 8u)
		check = codecheck_mix(check, codecheck_word(words, at++) >> 32);
	/* Two at a time: neither waits for the other's product. */
	for (; at + 1 < end; at += 2) {
		check = codecheck_mix(check, codecheck_word(words, at));
		other = codecheck_mix(other, codecheck_word(words, at + 1));
	}
	if (at < end)
		check = codecheck_mix(check, codecheck_word(words, at));
	return codecheck_mix(check, other);
}

/* One name. @lead: its first bytes, zeroes behind its end; not read if it has a hash. */
static inline uint64_t codecheck_name(uint64_t check, uint64_t length,
				      int64_t hash, const uint64_t *lead)
{
	check = codecheck_mix(check, length);
	check = codecheck_mix(check, (uint64_t)hash);
	for (uint32_t i = 0; hash == -1 && i < CODECHECK_LEAD; i++)
		check = codecheck_mix(check, lead[i]);
	return check;
}

#endif
