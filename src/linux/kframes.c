/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/vec.h"
#include "linux/kframes.h"
#include "linux/kframes_object.h"

/* Number of the initial pid namespace: fixed since Linux 3.8. */
#define PID_NS_INITIAL 0xEFFFFFFCu

/* A clock: the event of one CPU, and what runs our program at it. */
struct clock {
	int fd; /* the link's, once there is one */
	struct bpf_link *link;
	unsigned cpu;
	unsigned quiet; /* how many periods it has had since it brought a sample */
};

struct kframes {
	struct bpf_object *object;
	struct bpf_link *links[3];
	struct VEC(struct clock) clocks;
	struct ring_buffer *ring;
	int layouts, counters; /* fds of the maps, the object's */
	/* Of one drain. */
	void (*take)(void *ctx, const struct kframes_sample *sample);
	void *ctx;
};

/* What libbpf has to say goes nowhere: its errors come back as numbers. */
static int say_nothing(enum libbpf_print_level level, const char *format,
		       va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

/* The clock of a CPU, or NULL. Where some have none its place is before its number. */
static struct clock *clock_of(struct kframes *k, uint32_t cpu)
{
	size_t i = cpu < k->clocks.n ? cpu + (size_t)1 : k->clocks.n;

	while (i-- > 0)
		if (k->clocks.at[i].cpu == cpu)
			return &k->clocks.at[i];
	return NULL;
}

static int take_record(void *ctx, void *record, size_t len)
{
	struct kframes *k = ctx;
	struct kframes_sample sample;
	struct clock *clock;

	if (!kframes_decode(record, len, &sample))
		return 0;
	clock = clock_of(k, sample.cpu);
	if (clock)
		clock->quiet = 0;
	k->take(k->ctx, &sample);
	return 0;
}

/* No multiple of a neighbour's; longer and shorter in turn, so that the mean is right. */
static uint64_t period_of(size_t clock, uint64_t period_ns)
{
	uint64_t apart = period_ns / 4096 * (1 + clock / 2 % 5);

	return clock % 2 ? period_ns - apart : period_ns + apart;
}

static int open_clock(unsigned cpu, uint64_t period_ns)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = period_ns,
		.exclude_idle = 1,
	};
	long fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1,
			  PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

/* A clock for each CPU that is there. */
static int start_clocks(struct kframes *k, unsigned cpus, uint64_t period_ns,
			struct error *err)
{
	struct bpf_program *program =
		bpf_object__find_program_by_name(k->object, "on_clock");

	for (unsigned cpu = 0; cpu < cpus; cpu++) {
		struct clock clock = { .fd = -1, .cpu = cpu };

		clock.fd = open_clock(cpu, period_of(k->clocks.n, period_ns));
		if (clock.fd == -ENODEV || clock.fd == -EINVAL)
			continue;
		if (clock.fd < 0)
			return error_set(
				err, clock.fd,
				"frames from the kernel: "
				"perf_event_open for a clock of CPU %u",
				cpu);
		clock.link = bpf_program__attach_perf_event(program, clock.fd);
		if (!clock.link || !vec_push(&k->clocks, clock)) {
			int r = clock.link ? -ENOMEM : -errno;

			if (clock.link)
				(void)bpf_link__destroy(clock.link);
			else
				(void)close(clock.fd);
			return error_set(err, r,
					 "frames from the kernel: attach to a "
					 "clock");
		}
	}
	return k->clocks.n ? 0
			   : error_set(err, -ENODEV,
				       "frames from the kernel: no CPU has a "
				       "clock");
}

static int follow_processes(struct kframes *k, struct error *err)
{
	static const char *const names[] = { "on_fork", "on_exec", "on_exit" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		k->links[i] = bpf_program__attach(
			bpf_object__find_program_by_name(k->object, names[i]));
		if (!k->links[i])
			return error_set(err, -errno,
					 "frames from the kernel: attach %s",
					 names[i]);
	}
	return 0;
}

static int load(struct kframes *k, unsigned cpus, struct error *err)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "forkflame");
	int r;

	(void)libbpf_set_print(say_nothing);
	k->object =
		bpf_object__open_mem(kframes_object, kframes_object_len, &opts);
	if (!k->object)
		return error_set(err, -errno, "frames from the kernel: open");
	r = bpf_map__set_max_entries(
		bpf_object__find_map_by_name(k->object, "scratches"), cpus);
	if (r == 0)
		r = bpf_object__load(k->object);
	if (r < 0)
		return error_set(err, r,
				 "frames from the kernel: load the program");
	k->layouts = bpf_object__find_map_fd_by_name(k->object, "layouts");
	k->counters = bpf_object__find_map_fd_by_name(k->object, "counters");
	k->ring = ring_buffer__new(
		bpf_object__find_map_fd_by_name(k->object, "ring"), take_record,
		k, NULL);
	if (!k->ring)
		return error_set(err, -errno, "frames from the kernel: ring");
	return 0;
}

static int check_machine(struct error *err)
{
	struct stat st;

#ifndef __x86_64__
	return error_set(err, -EOPNOTSUPP,
			 "frames from the kernel: for x86-64 alone");
#endif
	if (stat("/proc/self/ns/pid", &st) != 0 || st.st_ino != PID_NS_INITIAL)
		return error_set(err, -EOPNOTSUPP,
				 "frames from the kernel: not in a pid "
				 "namespace of its own");
	return 0;
}

int kframes_open(struct kframes **ret, uint64_t period_ns, struct error *err)
{
	struct kframes *k = calloc(1, sizeof(*k));
	int cpus = libbpf_num_possible_cpus();
	int r;

	if (!k)
		return error_set(err, -ENOMEM, "frames from the kernel");
	r = check_machine(err);
	if (r == 0 && cpus < 1)
		r = error_set(err, cpus < 0 ? cpus : -ENODEV,
			      "frames from the kernel: count the CPUs");
	if (r == 0)
		r = load(k, (unsigned)cpus, err);
	if (r == 0)
		r = follow_processes(k, err);
	if (r == 0)
		r = start_clocks(k, (unsigned)cpus, period_ns, err);
	if (r == 0) {
		*ret = k;
		k = NULL;
	}
	kframes_close(k);
	return r;
}

void kframes_close(struct kframes *k)
{
	if (!k)
		return;
	for (size_t i = 0; i < k->clocks.n; i++)
		(void)bpf_link__destroy(k->clocks.at[i].link);
	vec_free(&k->clocks);
	for (size_t i = 0; i < sizeof(k->links) / sizeof(*k->links); i++)
		(void)bpf_link__destroy(k->links[i]);
	ring_buffer__free(k->ring);
	bpf_object__close(k->object);
	free(k);
}

void kframes_set_period(struct kframes *k, uint64_t period_ns)
{
	for (size_t i = 0; i < k->clocks.n; i++) {
		struct clock *clock = &k->clocks.at[i];
		uint64_t period = period_of(i, period_ns);

		if (clock->quiet >= KFRAMES_QUIET)
			continue;
		clock->quiet++;
		(void)ioctl(clock->fd, PERF_EVENT_IOC_PERIOD, &period);
	}
}

int kframes_give(struct kframes *k, pid_t pid,
		 const struct kframes_layout *layout)
{
	uint32_t key = (uint32_t)pid;

	return bpf_map_update_elem(k->layouts, &key, layout, BPF_ANY) ? -errno
								      : 0;
}

void kframes_take(struct kframes *k, pid_t pid)
{
	uint32_t key = (uint32_t)pid;

	(void)bpf_map_delete_elem(k->layouts, &key);
}

bool kframes_has(const struct kframes *k, pid_t pid, uint32_t *ret_generation)
{
	struct kframes_layout layout;
	uint32_t key = (uint32_t)pid;

	if (bpf_map_lookup_elem(k->layouts, &key, &layout) != 0)
		return false;
	*ret_generation = layout.generation;
	return true;
}

void kframes_drain(struct kframes *k,
		   void (*take)(void *ctx, const struct kframes_sample *sample),
		   void *ctx)
{
	k->take = take;
	k->ctx = ctx;
	(void)ring_buffer__consume(k->ring);
}

uint64_t kframes_counter(const struct kframes *k, enum kframes_counter which)
{
	int cpus = libbpf_num_possible_cpus();
	uint64_t *each = cpus > 0 ? calloc((size_t)cpus, sizeof(*each)) : NULL;
	uint32_t key = which;
	uint64_t sum = 0;

	if (each && bpf_map_lookup_elem(k->counters, &key, each) == 0)
		for (int i = 0; i < cpus; i++)
			sum += each[i];
	free(each);
	return sum;
}
