/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#ifndef LINUX_KFRAMES_CHECK_H
#define LINUX_KFRAMES_CHECK_H

#include <linux/bpf.h>
#include <stdint.h>

#include <bpf/bpf_helpers.h>

#include "base/codecheck.h"

/*
 * Which code object a frame is of, as a number (base/codecheck.h). A part of our program
 * in the kernel, linux/kframes.bpf.c, and compiled with that alone.
 */

/* A string that was looked at. */
struct known {
	uint64_t addr; /* 0: none */
	uint64_t length;
	int64_t hash;
	uint64_t lead[CODECHECK_LEAD];
};

/* What is needed to tell a code object from others. */
struct codework {
	uint64_t words[CODECHECK_WORDS]; /* its fields */
	struct known file, name;         /* the last ones, of this sample */
};

/*
 * Frames that call each other are of few files, and the two names of most functions are
 * one object: what was read a moment ago is not read again.
 */
static int check_name(const struct codeplan *plan, struct known *known,
		      uint64_t addr, uint64_t *check)
{
	uint64_t head[2]; /* length and hash: side by side where we are used */
	uint32_t len;

	if (addr != known->addr) {
		if (bpf_probe_read_user(head, sizeof(head),
					(const void *)(addr + plan->length)))
			return -1;
		known->addr = addr;
		known->length = head[0];
		known->hash = (int64_t)head[1];
		__builtin_memset(known->lead, 0, sizeof(known->lead));
		len = sizeof(known->lead);
		if (known->length < len)
			len = (uint32_t)known->length;
		/* Looked at once more where the verifier can see it. */
		asm volatile("" : "+r"(len));
		if (len > sizeof(known->lead))
			return -1;
		if (known->hash == -1 &&
		    bpf_probe_read_user(known->lead, len,
					(const void *)(addr + plan->lead)))
			return -1;
	}
	*check =
		codecheck_name(*check, known->length, known->hash, known->lead);
	return 0;
}

/*
 * Which code object it is. With external linkage it is a function of its own for the
 * verifier too, which looks at it once, and not with each way that leads to it.
 */
int check_code(const struct codeplan *plan, struct codework *work,
	       uint64_t code, uint64_t *ret);

__attribute__((noinline)) int check_code(const struct codeplan *plan,
					 struct codework *work, uint64_t code,
					 uint64_t *ret)
{
	uint32_t len, version;

	if (!plan || !work || !ret)
		return -1;
	if (plan->version) {
		if (bpf_probe_read_user(&version, sizeof(version),
					(const void *)(code + plan->version)))
			return -1;
		*ret = version;
		return 0;
	}
	len = plan->words * 8u;
	if (len > sizeof(work->words) ||
	    bpf_probe_read_user(work->words, len,
				(const void *)(code + plan->from)))
		return -1;
	*ret = codecheck_fields(plan, work->words);
	for (uint32_t k = 0; k < CODECHECK_NAMES && k < plan->n_names; k++) {
		uint32_t at = plan->names[k] & (CODECHECK_WORDS - 1);

		if (check_name(plan, k ? &work->name : &work->file,
			       work->words[at], ret))
			return -1;
	}
	return 0;
}

#endif
