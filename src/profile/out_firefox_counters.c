/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/out_firefox_internal.h"

#include <errno.h>
#include <inttypes.h>

#include "base/nsec.h"

/* Into how many steps a life is cut at most, and how long they are at least. */
#define STEPS 100
#define STEP_NS (20 * NSEC_PER_MSEC)

int firefox_counter_begin(struct firefox_counters *counters,
			  const struct history *h, uint32_t process,
			  uint32_t thread)
{
	const struct past_process *p = &h->processes.at[process];
	uint64_t life_ns = nsec_since(p->left_ns, p->born_ns);
	struct firefox_counter counter = {
		.process = process,
		.thread = thread,
		.from_ns = p->born_ns,
		.step_ns = life_ns / STEPS + 1,
		.first = counters->values.n,
	};

	if (counter.step_ns < STEP_NS)
		counter.step_ns = STEP_NS;
	counter.n = (size_t)(life_ns / counter.step_ns) + 1;
	for (size_t i = 0; i < counter.n; i++)
		if (!vec_push(&counters->values, 0))
			return -ENOMEM;
	return vec_push(&counters->at, counter) ? 0 : -ENOMEM;
}

/* The step that a moment is in. */
static size_t step_of(const struct firefox_counter *counter, uint64_t at_ns)
{
	uint64_t step = nsec_since(at_ns, counter->from_ns) / counter->step_ns;

	return step < counter->n ? (size_t)step : counter->n - 1;
}

/* Spread @cpu_ns evenly over a slice's time; the last step has the rest. */
static void spread(const struct firefox_counter *counter, uint64_t *values,
		   uint64_t from_ns, uint64_t until_ns, uint64_t cpu_ns)
{
	size_t last = step_of(counter, until_ns ? until_ns - 1 : 0);
	uint64_t left_ns = cpu_ns;
	double rate;

	for (size_t i = step_of(counter, from_ns); i < last; i++) {
		uint64_t end_ns = counter->from_ns + (i + 1) * counter->step_ns;
		uint64_t part_ns;

		rate = (double)left_ns / (double)(until_ns - from_ns);
		part_ns = (uint64_t)(rate * (double)(end_ns - from_ns));
		if (part_ns > left_ns)
			part_ns = left_ns;
		values[i] += part_ns;
		left_ns -= part_ns;
		from_ns = end_ns;
	}
	values[last] += left_ns;
}

void firefox_count(struct firefox_counters *counters, struct course *course)
{
	const struct firefox_counter *counter =
		&counters->at.at[counters->at.n - 1];
	uint64_t *values = counters->values.at + counter->first;

	for (course_rewind(course); course_next(course);)
		if (course->slice.weight.cpu_ns)
			spread(counter, values, course->slice.start_ns,
			       course->until_ns, course->slice.weight.cpu_ns);
}

void firefox_pid(const struct history *h, struct numbers *pids,
		 uint32_t process, struct str *to)
{
	int32_t pid = h->processes.at[process].pid;
	uint32_t turn = numbers_turn(pids, pid, process);

	if (turn == UINT32_MAX)
		to->failed = true;
	str_printf(to, "%" PRId32, pid);
	if (turn)
		str_printf(to, ".%" PRIu32, turn + 1);
}

static int put_samples(const struct firefox_counter *counter,
		       const uint64_t *values, struct sink *sink)
{
	struct json *j = &sink->json;

	json_key(j, "samples");
	json_open(j, '{');
	json_key(j, "time");
	json_open(j, '[');
	for (size_t i = 0; i <= counter->n; i++)
		sink_decimal(sink, counter->from_ns + i * counter->step_ns, 6);
	json_close(j, ']');
	json_key(j, "count");
	json_open(j, '[');
	sink_u64(sink, 0);
	for (size_t i = 0; i < counter->n; i++)
		sink_u64(sink, values[i]);
	json_close(j, ']');
	json_put_u64(j, "length", counter->n + 1);
	json_close(j, '}');
	return sink_pass(sink);
}

int firefox_put_counters(const struct firefox_counters *counters,
			 const struct history *h, struct numbers *pids,
			 struct sink *sink)
{
	struct json *j = &sink->json;
	struct str pid = { 0 };
	int r = 0;

	json_key(j, "counters");
	json_open(j, '[');
	for (size_t i = 0; !r && i < counters->at.n; i++) {
		const struct firefox_counter *counter = &counters->at.at[i];

		str_clear(&pid);
		firefox_pid(h, pids, counter->process, &pid);
		if (pid.failed) {
			r = -ENOMEM;
			break;
		}
		json_open(j, '{');
		/* The profiler knows this one, and draws it as a share. */
		json_put_text(j, "name", "processCPU");
		json_put_text(j, "category", "CPU");
		json_put_text(j, "description", "CPU time of the process");
		json_put_text(j, "pid", pid.at);
		json_put_u64(j, "mainThreadIndex", counter->thread);
		r = put_samples(counter, counters->values.at + counter->first,
				sink);
		json_close(j, '}');
	}
	json_close(j, ']');
	str_free(&pid);
	return r;
}

void firefox_counters_free(struct firefox_counters *counters)
{
	vec_free(&counters->at);
	vec_free(&counters->values);
}
