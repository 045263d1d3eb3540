/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/roles_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * A process starts up until its first frame of its own. What lies above the last
 * fork on its stack only is its own: a child that multiprocessing forked has its
 * parent's frames below, down to main.
 */

/* What a frame tells; 0 is "not looked at yet". */
enum part {
	PART_OWN = 1,
	PART_PYTHON, /* start-up, or helpers: tells nothing */
	PART_IMPORT, /* all above it is start-up */
	PART_BORN,   /* below it is the parent's */
	PART_WORKER, /* the loop of a pool's member */
};

static bool has(const char *text, const char *part)
{
	return strstr(text, part) != NULL;
}

static bool ends(const char *text, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len >= n && !memcmp(text + len - n, end, n);
}

/* A file of the standard library that stands for start-up wherever it is met. */
static bool is_startup(const char *file, size_t len)
{
	static const char *const names[] = {
		"/site.py",      "/sitecustomize.py", "/runpy.py",
		"/threading.py", "/zipimport.py",     "/codecs.py",
	};

	if (!strncmp(file, "<frozen ", 8) || has(file, "/multiprocessing/") ||
	    has(file, "/concurrent/futures/") || has(file, "/loky/") ||
	    has(file, "/encodings/"))
		return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (ends(file, len, names[i]) && has(file, "/python"))
			return true;
	return false;
}

static enum part part_of(const struct strtab *strings, struct frame frame)
{
	size_t len, n;
	const char *file = strtab_get(strings, frame.file, &len);
	const char *function = strtab_get(strings, frame.function, &n);

	/* Names may be qualified: BaseProcess._bootstrap. */
	if (ends(file, len, "multiprocessing/process.py") &&
	    ends(function, n, "_bootstrap"))
		return PART_BORN;
	if (ends(file, len, "multiprocessing/pool.py") &&
	    !strcmp(function, "worker"))
		return PART_WORKER;
	if ((ends(file, len, "futures/process.py") ||
	     has(file, "/loky/process_executor.py")) &&
	    !strcmp(function, "_process_worker"))
		return PART_WORKER;
	/* Under spawn, the program's main module is imported once more. */
	if (ends(file, len, "multiprocessing/spawn.py") ||
	    !strncmp(file, "<frozen importlib", 17) ||
	    !strncmp(file, "<frozen zipimport", 17) ||
	    has(file, "/importlib/_bootstrap"))
		return PART_IMPORT;
	return is_startup(file, len) ? PART_PYTHON : PART_OWN;
}

int stages_make(struct stages *ret, const struct history *h)
{
	*ret = (struct stages){ .h = h };
	ret->frames = calloc((size_t)stacks_frame_count(h->stacks) + 1, 1);
	ret->stacks = calloc((size_t)stacks_count(h->stacks) + 1, 1);
	return ret->frames && ret->stacks ? 0 : -ENOMEM;
}

void stages_free(struct stages *stages)
{
	free(stages->frames);
	free(stages->stacks);
	*stages = (struct stages){ 0 };
}

static enum stage look(struct stages *stages, uint32_t stack)
{
	const struct history *h = stages->h;
	bool own = false, worker = false;
	struct stack at = stacks_at(h->stacks, stack);

	for (; at.frame != STACKS_NONE; at = stacks_at(h->stacks, at.parent)) {
		uint8_t *part = &stages->frames[at.frame];

		if (!*part)
			*part = (uint8_t)part_of(
				h->strings,
				stacks_frame_at(h->stacks, at.frame));
		if (*part == PART_IMPORT)
			return STAGE_STARTING;
		if (*part == PART_BORN)
			break;
		own = own || *part == PART_OWN;
		worker = worker || *part == PART_WORKER;
	}
	if (own)
		return STAGE_WORKING;
	return worker ? STAGE_READY : STAGE_STARTING;
}

enum stage stages_of(struct stages *stages, uint32_t stack)
{
	uint8_t *known = &stages->stacks[stack];

	if (!*known)
		*known = (uint8_t)(look(stages, stack) + 1);
	return (enum stage)(*known - 1);
}

bool stages_is_python(const struct strtab *strings, uint32_t file)
{
	size_t len;
	const char *name = strtab_get(strings, file, &len);

	return is_startup(name, len);
}

bool stages_is_pool(const struct strtab *strings, uint32_t file)
{
	size_t len;
	const char *name = strtab_get(strings, file, &len);

	return has(name, "/multiprocessing/") ||
	       has(name, "/concurrent/futures/process.py") ||
	       has(name, "/loky/");
}
