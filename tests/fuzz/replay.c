/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A main() for the fuzz programs where no fuzzer is: it makes them tests.
 *
 * A fuzz program is one function on bytes, LLVMFuzzerTestOneInput. Linked with
 * -fsanitize=fuzzer it searches for inputs that break a parser. Linked with this
 * file it takes the inputs found so far, corpus/NAME/ for fuzz_NAME, and gives it
 *
 *   1. each as it is;
 *   2. each cut off at every length, or at 256 of them when it is long;
 *   3. each 512 times with a few bytes changed, always the same ones.
 *
 * Every input lies in an allocation of just its size, so that the address
 * sanitizer sees the first byte read beyond it.
 *
 * usage: fuzz_NAME [FILE...]   without files: the corpus, in $FORKFLAME_SRCDIR
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE_MAX_INPUT (1 << 20)
#define CUTS 256
#define CHANGES 512

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void give(const uint8_t *data, size_t size)
{
	uint8_t *exact = malloc(size ? size : 1);

	if (!exact) {
		fprintf(stderr, "out of memory\n");
		exit(99);
	}
	if (size)
		memcpy(exact, data, size);
	LLVMFuzzerTestOneInput(exact, size);
	free(exact);
}

static uint32_t next_random(uint32_t *state)
{
	/* Marsaglia's xorshift32: any generator that is the same everywhere. */
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

static void give_cut(const uint8_t *data, size_t size)
{
	size_t step = size / CUTS + 1;

	for (size_t n = 0; n < size; n += step)
		give(data, n);
}

static void give_changed(const uint8_t *data, size_t size)
{
	static const uint8_t telling[] = { 0, 1, 0x7f, 0x80, 0xff };
	uint8_t *changed = malloc(size ? size : 1);
	uint32_t random = 2463534242;

	for (int i = 0; changed && size && i < CHANGES; i++) {
		uint32_t times = 1 + next_random(&random) % 4;

		memcpy(changed, data, size);
		while (times--) {
			size_t at = next_random(&random) % size;
			uint32_t how = next_random(&random);

			if (how & 1)
				changed[at] ^= (uint8_t)(1u << (how >> 1) % 8);
			else
				changed[at] =
					telling[(how >> 1) % sizeof(telling)];
		}
		give(changed, size);
	}
	free(changed);
}

static int replay(const char *path)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data = malloc(SIZE_MAX_INPUT);
	size_t size;
	int r = -1;

	if (!file || !data) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		goto out;
	}
	/* Said before it is tried: the last name printed is the one that crashed. */
	printf("%s\n", path);
	fflush(stdout);
	size = fread(data, 1, SIZE_MAX_INPUT, file);
	give(data, size);
	give_cut(data, size);
	give_changed(data, size);
	r = 0;

out:
	free(data);
	if (file)
		fclose(file);
	return r;
}

static int is_input(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int replay_corpus(const char *name)
{
	const char *root = getenv("FORKFLAME_SRCDIR");
	struct dirent **entries = NULL;
	char dir[4096], path[8192];
	int failed = 0;
	int n;

	if (strncmp(name, "fuzz_", 5) == 0)
		name += 5;
	snprintf(dir, sizeof(dir), "%s/tests/fuzz/corpus/%s", root ? root : ".",
		 name);
	n = scandir(dir, &entries, is_input, alphasort);
	if (n <= 0) {
		fprintf(stderr, "%s: no inputs there\n", dir);
		failed = 1;
	}
	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, entries[i]->d_name);
		if (replay(path) != 0)
			failed = 1;
		free(entries[i]);
	}
	free(entries);
	if (!failed)
		printf("%d inputs, cut and changed\n", n);
	return failed;
}

int main(int argc, char **argv)
{
	const char *slash = strrchr(argv[0], '/');
	int failed = 0;

	if (argc < 2)
		return replay_corpus(slash ? slash + 1 : argv[0]);
	for (int i = 1; i < argc; i++)
		failed |= replay(argv[i]) != 0;
	return failed;
}
