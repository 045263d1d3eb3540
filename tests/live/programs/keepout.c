/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page of a busy program that is in memory, and not in its page table: as one is that
 * was paged out and is in the page cache yet.
 */
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096ul

static double cpu(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/*
 * Burn @seconds of CPU time, and take the page at @addr out of the table every 2 ms.
 * The thread must be the only one, and touches the page again when it has returned.
 * Returns how often it was taken out, or -1.
 */
int keep_out(uintptr_t addr, double seconds)
{
	void *page = (void *)(addr & ~(PAGE - 1));
	int fd = memfd_create("page", MFD_CLOEXEC), times = 0;
	double end = cpu() + seconds, next;

	if (fd < 0 || write(fd, page, PAGE) != (ssize_t)PAGE ||
	    mmap(page, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
		 0) == MAP_FAILED)
		return -1;
	(void)close(fd);
	while (cpu() < end) {
		if (madvise(page, PAGE, MADV_DONTNEED) != 0)
			return -1;
		times++;
		for (next = cpu() + .002; cpu() < next;)
			;
	}
	return times;
}
