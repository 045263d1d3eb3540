/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/summary.h"

#include <inttypes.h>

#include "base/nsec.h"

static const char *const verdict_names[VERDICT_COUNT] = {
	[VERDICT_PENDING] = "pending",
	[VERDICT_SAMPLED] = "sampled",
	[VERDICT_NOT_PYTHON] = "not_python",
	[VERDICT_UNKNOWN] = "unknown_python",
	[VERDICT_DENIED] = "denied",
	[VERDICT_TOO_SHORT] = "too_short",
	[VERDICT_GONE] = "gone",
	[VERDICT_LEFT_OUT] = "left_out",
};

static const char *const drop_names[DROP_COUNT] = {
	[DROP_TORN] = "torn",   [DROP_BUSY] = "busy",
	[DROP_GONE] = "gone",   [DROP_DENIED] = "denied",
	[DROP_MOVED] = "moved", [DROP_BEFORE_EXEC] = "before_exec",
};

const char *verdict_name(enum verdict verdict)
{
	return verdict_names[verdict];
}

const char *drop_name(enum drop drop)
{
	return drop_names[drop];
}

/*
 * Bucket of a time: its highest set bit and the two bits below it, so that a
 * bucket is never wider than a quarter of its lower end.
 */
static unsigned bucket_of(uint64_t ns)
{
	unsigned bit = 0;

	if (ns < 8)
		return (unsigned)ns;
	while (ns >> bit > 7)
		bit++;
	bit = (bit + 1) * 4 + (unsigned)((ns >> bit) & 3);
	return bit < HELD_BUCKETS ? bit : HELD_BUCKETS - 1;
}

/* The middle of a bucket. */
static uint64_t bucket_ns(unsigned bucket)
{
	unsigned bit = bucket / 4 - 1;

	if (bucket < 8)
		return bucket;
	return ((uint64_t)(4 + bucket % 4) << bit) + (1ull << bit) / 2;
}

void held_add(struct held *held, uint64_t ns)
{
	held->stops++;
	held->total_ns += ns;
	if (ns > held->longest_ns)
		held->longest_ns = ns;
	held->buckets[bucket_of(ns)]++;
}

uint64_t held_quantile(const struct held *held, double share)
{
	double want = share * (double)held->stops;
	uint64_t seen = 0;

	for (unsigned i = 0; i < HELD_BUCKETS; i++) {
		seen += held->buckets[i];
		if (seen && (double)seen >= want)
			return bucket_ns(i) < held->longest_ns
				       ? bucket_ns(i)
				       : held->longest_ns;
	}
	return held->longest_ns;
}

static uint64_t sum(const uint64_t *values, size_t n)
{
	uint64_t total = 0;

	for (size_t i = 0; i < n; i++)
		total += values[i];
	return total;
}

uint64_t counts_seen(const struct counts *counts)
{
	return sum(counts->verdicts, VERDICT_COUNT);
}

uint64_t counts_taken(const struct counts *counts)
{
	return counts->stopped + counts->unstopped + counts->kernel +
	       counts->repeated;
}

uint64_t counts_dropped(const struct counts *counts)
{
	return sum(counts->drops, DROP_COUNT);
}

static double seconds(uint64_t ns)
{
	return (double)ns / (double)NSEC_PER_SEC;
}

static double micros(uint64_t ns)
{
	return (double)ns / (double)NSEC_PER_USEC;
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void text_processes(const struct counts *c, struct str *to)
{
	static const char *const words[VERDICT_COUNT] = {
		[VERDICT_SAMPLED] = "sampled",
		[VERDICT_NOT_PYTHON] = "not Python",
		[VERDICT_UNKNOWN] = "unknown Python",
		[VERDICT_DENIED] = "denied",
		[VERDICT_TOO_SHORT] = "too short",
		[VERDICT_GONE] = "gone before a look",
		[VERDICT_LEFT_OUT] = "left out",
	};

	str_printf(to, "processes: %" PRIu64 " seen = %" PRIu64 " sampled",
		   counts_seen(c), c->verdicts[VERDICT_SAMPLED]);
	for (int i = VERDICT_NOT_PYTHON; i < VERDICT_COUNT; i++)
		if (c->verdicts[i])
			str_printf(to, " + %" PRIu64 " %s", c->verdicts[i],
				   words[i]);
	str_printf(to, "; %" PRIu64 " threads\n", c->threads);
	if (c->events_lost || c->found_late)
		str_printf(to,
			   "events: lost %" PRIu64 " times, %" PRIu64
			   " rescans, %" PRIu64 " processes found late\n",
			   c->events_lost, c->rescans, c->found_late);
	if (c->missed)
		str_printf(to,
			   "processes missed: %" PRIu64
			   " or more, which lived between two looks\n",
			   c->missed);
}

static void text_samples(const struct counts *c, struct str *to)
{
	str_printf(to,
		   "samples: %" PRIu64 " taken = %" PRIu64 " stopped + %" PRIu64
		   " unstopped + %" PRIu64 " repeated",
		   counts_taken(c), c->stopped, c->unstopped, c->repeated);
	if (c->kernel)
		str_printf(to, " + %" PRIu64 " by the kernel", c->kernel);
	str_printf(to, "; %" PRIu64 " dropped", counts_dropped(c));
	for (int i = 0; i < DROP_COUNT; i++)
		if (c->drops[i])
			str_printf(to, " (%" PRIu64 " %s)", c->drops[i],
				   drop_names[i]);
	str_printf(to, "; ticks: %" PRIu64 ", missed %" PRIu64 "\n", c->ticks,
		   c->ticks_missed);
}

static void text_kernel(const struct summary_kernel *k, struct str *to)
{
	const struct {
		uint64_t n;
		const char *what;
	} words[] = {
		{ k->lost, "samples lost in a full ring" },
		{ k->unread, "not read for a missing page" },
		{ k->torn, "torn" },
		{ k->deep, "too deep" },
		{ k->no_state, "without a thread state" },
		{ k->denied, "of another user by then" },
		{ k->unknown, "of threads that are not known" },
		{ k->freed, "frames of functions that were gone" },
	};
	const char *between = "read by the kernel: ";

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (!words[i].n)
			continue;
		str_printf(to, "%s%" PRIu64 " %s", between, words[i].n,
			   words[i].what);
		between = ", ";
	}
	if (between[0] == ',')
		str_puts(to, "\n");
}

void summary_text(const struct summary *summary, struct str *to)
{
	const struct counts *c = summary->counts;
	uint64_t mean = c->held.stops ? c->held.total_ns / c->held.stops : 0;

	str_printf(
		to,
		"duration: %.2f s at %.6g Hz; %.2f s of wall time and %.2f s of CPU time profiled\n",
		seconds(summary->duration_ns),
		(double)NSEC_PER_SEC / (double)summary->interval_ns,
		seconds(c->wall_ns), seconds(c->cpu_ns));
	text_processes(c, to);
	text_samples(c, to);
	text_kernel(&summary->kernel, to);
	str_printf(
		to,
		"held: mean %.0f us, p99 %.0f us, longest %.0f us in %" PRIu64
		" stops\n",
		micros(mean), micros(held_quantile(&c->held, 0.99)),
		micros(c->held.longest_ns), c->held.stops);
	if (c->calls_failed)
		str_printf(
			to,
			"system calls that failed with EINTR because of a stop: %" PRIu64
			"\n",
			c->calls_failed);
	str_printf(to,
		   "forkflame itself: %.3f s of CPU time, %.2f %% of a core\n",
		   seconds(summary->profiler_cpu_ns),
		   percent(summary->profiler_cpu_ns, summary->duration_ns));
}

static void json_counts(const struct counts *c, struct json *j)
{
	json_key(j, "processes");
	json_open(j, '{');
	json_put_u64(j, "seen", counts_seen(c));
	for (int i = VERDICT_SAMPLED; i < VERDICT_COUNT; i++)
		json_put_u64(j, verdict_names[i], c->verdicts[i]);
	json_close(j, '}');
	json_put_u64(j, "threads", c->threads);
	json_key(j, "samples");
	json_open(j, '{');
	json_put_u64(j, "taken", counts_taken(c));
	json_put_u64(j, "stopped", c->stopped);
	json_put_u64(j, "unstopped", c->unstopped);
	json_put_u64(j, "kernel", c->kernel);
	json_put_u64(j, "repeated", c->repeated);
	json_close(j, '}');
	json_put_u64(j, "attempts", counts_taken(c) + counts_dropped(c));
	json_key(j, "dropped");
	json_open(j, '{');
	for (int i = 0; i < DROP_COUNT; i++)
		json_put_u64(j, drop_names[i], c->drops[i]);
	json_close(j, '}');
	json_key(j, "ticks");
	json_open(j, '{');
	json_put_u64(j, "done", c->ticks);
	json_put_u64(j, "missed", c->ticks_missed);
	json_close(j, '}');
}

static void json_held(const struct held *held, struct json *j)
{
	json_key(j, "held");
	json_open(j, '{');
	json_put_u64(j, "stops", held->stops);
	json_put_u64(j, "mean_ns",
		     held->stops ? held->total_ns / held->stops : 0);
	json_put_u64(j, "p99_ns", held_quantile(held, 0.99));
	json_put_u64(j, "longest_ns", held->longest_ns);
	json_close(j, '}');
}

static void json_listener(const struct summary_listener *l, struct json *j)
{
	json_key(j, "listener");
	json_open(j, '{');
	json_put_u64(j, "cpu_ns", l->cpu_ns);
	json_put_u64(j, "received", l->received);
	json_put_u64(j, "dropped", l->dropped);
	json_put_u64(j, "strangers", l->strangers);
	json_put_u64(j, "wakes", l->wakes);
	json_close(j, '}');
}

static void json_kernel(const struct summary_kernel *k, struct json *j)
{
	json_key(j, "kernel");
	json_open(j, '{');
	json_put_u64(j, "read", k->read);
	json_put_u64(j, "mean_ns", k->read ? k->ns / k->read : 0);
	json_put_u64(j, "lost", k->lost);
	json_put_u64(j, "unread", k->unread);
	json_put_u64(j, "torn", k->torn);
	json_put_u64(j, "deep", k->deep);
	json_put_u64(j, "no_state", k->no_state);
	json_put_u64(j, "denied", k->denied);
	json_put_u64(j, "unknown", k->unknown);
	json_put_u64(j, "superseded", k->superseded);
	json_put_u64(j, "freed", k->freed);
	json_close(j, '}');
}

static void json_posts(const struct summary_posts *p, struct json *j)
{
	json_key(j, "samplers");
	json_open(j, '{');
	json_put_u64(j, "threads", p->threads + 1);
	json_put_u64(j, "samples", p->samples);
	json_put_u64(j, "moved", p->moved);
	json_put_u64(j, "late", p->late);
	json_close(j, '}');
}

void summary_json(const struct summary *summary, struct json *j)
{
	const struct counts *c = summary->counts;

	json_put_text(j, "version", summary->version);
	json_put_u64(j, "duration_ns", summary->duration_ns);
	json_put_u64(j, "interval_ns", summary->interval_ns);
	json_put_text(j, "mode", summary->mode);
	json_put_text(j, "events", summary->events);
	json_put_text(j, "events_reason", summary->events_reason);
	json_put_text(j, "oncpu", summary->oncpu);
	json_put_text(j, "oncpu_reason", summary->oncpu_reason);
	json_put_text(j, "sampler", summary->sampler);
	json_put_text(j, "sampler_reason", summary->sampler_reason);
	json_counts(c, j);
	json_posts(&summary->posts, j);
	json_held(&c->held, j);
	json_put_u64(j, "calls_failed", c->calls_failed);
	json_put_u64(j, "events_lost", c->events_lost);
	json_put_u64(j, "rescans", c->rescans);
	json_put_u64(j, "found_late", c->found_late);
	json_put_u64(j, "missed", c->missed);
	json_listener(&summary->listener, j);
	json_kernel(&summary->kernel, j);
	json_put_u64(j, "profiler_cpu_ns", summary->profiler_cpu_ns);
	json_put_u64(j, "wall_ns", c->wall_ns);
	json_put_u64(j, "cpu_ns", c->cpu_ns);
}
