/* SPDX-License-Identifier: Apache-2.0 */
/*
 * storm SECONDS: make children that end at once, one after the other, as many as
 * go; say how many. Two of these make as many as the machine can.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char *argv[])
{
	double end = now() + (argc > 1 ? atof(argv[1]) : 1);
	unsigned long n = 0;

	for (; now() < end; n++) {
		pid_t pid = vfork();

		if (pid == 0)
			_exit(0);
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			return 1;
	}
	printf("%lu\n", n);
	return 0;
}
