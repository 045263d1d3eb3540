/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strange_kin.c: exports what a Python of a version to come would, to be refused by
 * its own table; with -DTEXTS it has but texts of an interpreter, as a tool that
 * deals with Pythons may.
 */
#include <unistd.h>

#ifdef TEXTS
const char *const texts[] = { "cpython-38", "cpython-38-x86_64-linux-gnu.so" };
#else
struct {
	char cookie[8];
	unsigned long version, free_threaded, rest[512];
} _PyRuntime = { "xdebugpy", 0x031000f0, 0, { 1 } };
#endif

int main(void)
{
#ifdef TEXTS
	write(1, texts[0], 0);
#endif
	sleep(2);
	return 0;
}
