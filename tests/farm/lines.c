/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lines MAJOR.MINOR[t] < RECORD: each line that our decoder gives against the one
 * that the interpreter gave. RECORD is what programs/lines.py has written. Prints
 * "CODES INSTRUCTIONS WRONG" and the first that are wrong; ends with 1 when any is.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "python/layout.h"
#include "python/linetable.h"

#define SHOWN 5

struct count {
	uint64_t codes, instructions, wrong;
};

struct record {
	long first;
	uint8_t *table;
	size_t len;
	const char *runs; /* "COUNTxLINE,..." */
};

static unsigned hex_digit(char c)
{
	return c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a') + 10;
}

/* In place: the bytes take the first half of the digits' room. */
static size_t unhex(char *text, uint8_t **ret)
{
	size_t n = text[0] == '-' ? 0 : strlen(text) / 2;

	*ret = (uint8_t *)text;
	for (size_t i = 0; i < n; i++)
		(*ret)[i] = (uint8_t)(hex_digit(text[2 * i]) << 4 |
				      hex_digit(text[2 * i + 1]));
	return n;
}

static bool record_parse(char *line, struct record *ret)
{
	char *table, *runs, *save = NULL;

	if (!strtok_r(line, " \n", &save))
		return false;
	ret->first = strtol(strtok_r(NULL, " \n", &save), NULL, 10);
	table = strtok_r(NULL, " \n", &save);
	runs = strtok_r(NULL, " \n", &save);
	if (!table || !runs)
		return false;
	ret->len = unhex(table, &ret->table);
	ret->runs = runs;
	return true;
}

static void compare(enum lines_kind kind, long step,
		    const struct record *record, struct count *count)
{
	const char *at = record->runs;
	int64_t instr = 0;

	count->codes++;
	while (*at) {
		char *end;
		long n = strtol(at, &end, 10);
		long right = strtol(end + 1, &end, 10);

		for (; n > 0; n--, instr += step) {
			int32_t line =
				linetable_line(kind, record->table, record->len,
					       (int32_t)record->first, instr);

			count->instructions++;
			if (line == right || count->wrong++ >= SHOWN)
				continue;
			printf("first line %ld, instruction %" PRId64
			       ": %d, should be %ld\n",
			       record->first, instr, line, right);
		}
		at = *end ? end + 1 : end;
	}
}

int main(int argc, char **argv)
{
	unsigned major = 0, minor = 0;
	const struct layout *layout;
	struct count count = { 0 };
	struct record record;
	char *line = NULL;
	size_t room = 0;

	if (argc == 2 && sscanf(argv[1], "%u.%u", &major, &minor) != 2)
		return 2;
	layout = layout_find(major, minor, false);
	if (!layout)
		return 2;
	while (getline(&line, &room, stdin) > 0) {
		if (!record_parse(line, &record)) {
			printf("no record: %s\n", line);
			count.wrong++;
			continue;
		}
		compare(layout->lines_kind, major < 3 ? 1 : 2, &record, &count);
	}
	free(line);
	printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", count.codes,
	       count.instructions, count.wrong);
	return count.wrong || !count.codes;
}
