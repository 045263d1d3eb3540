/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/timeline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Text is handed on when there is this much of it. */
#define CHUNK (64 * 1024)

void sink_open(struct sink *sink, out_write write, void *ctx)
{
	*sink = (struct sink){ .write = write, .ctx = ctx };
	sink->json.to = &sink->text;
}

void sink_free(struct sink *sink)
{
	str_free(&sink->text);
}

int sink_end(struct sink *sink)
{
	int r = 0;

	if (sink->text.failed)
		return -ENOMEM;
	if (sink->text.len)
		r = sink->write(sink->ctx, sink->text.at, sink->text.len);
	str_clear(&sink->text);
	return r;
}

int sink_pass(struct sink *sink)
{
	if (sink->text.len < CHUNK && !sink->text.failed)
		return 0;
	return sink_end(sink);
}

/* The digits of @value, the last of them before @end. Returns the first. */
static char *before(char *end, uint64_t value)
{
	static const char pairs[] = "00010203040506070809"
				    "10111213141516171819"
				    "20212223242526272829"
				    "30313233343536373839"
				    "40414243444546474849"
				    "50515253545556575859"
				    "60616263646566676869"
				    "70717273747576777879"
				    "80818283848586878889"
				    "90919293949596979899";

	for (; value >= 100; value /= 100)
		memcpy(end -= 2, pairs + value % 100 * 2, 2);
	if (value >= 10)
		memcpy(end -= 2, pairs + value * 2, 2);
	else
		*--end = (char)('0' + value);
	return end;
}

size_t decimal_put(char *to, uint64_t value, unsigned digits)
{
	/* The second half is there to be copied: a length that does not differ
	 * each time is much faster. */
	char text[2 * DECIMAL_MAX], *end = text + DECIMAL_MAX, *at = end;
	uint64_t unit = 1, rest = 0;

	for (unsigned i = 0; i < digits; i++)
		unit *= 10;
	if (digits)
		rest = value % unit;
	if (rest) {
		for (; rest % 10 == 0; rest /= 10)
			digits--;
		for (; digits; digits--, rest /= 10)
			*--at = (char)('0' + rest % 10);
		*--at = '.';
	}
	at = before(at, unit > 1 ? value / unit : value);
	memset(end, 0, DECIMAL_MAX);
	memcpy(to, at, DECIMAL_MAX);
	return (size_t)(end - at);
}

void sink_decimal(struct sink *sink, uint64_t value, unsigned digits)
{
	char *to = str_room(&sink->text, DECIMAL_MAX + 1);
	size_t comma = sink->json.comma;

	sink->json.comma = true;
	if (!to)
		return;
	*to = ',';
	sink->text.len += comma + decimal_put(to + comma, value, digits);
	sink->text.at[sink->text.len] = '\0';
}

void sink_u64(struct sink *sink, uint64_t value)
{
	sink_decimal(sink, value, 0);
}

void sink_i64(struct sink *sink, int64_t value)
{
	if (value >= 0)
		sink_u64(sink, (uint64_t)value);
	else
		json_i64(&sink->json, value);
}

void sink_field(struct sink *sink, const char *key)
{
	str_puts(&sink->text, key);
	sink->json.comma = false;
}

void sink_id(struct sink *sink, const struct strtab *strings, uint32_t id)
{
	size_t len;
	const char *bytes = strtab_get(strings, id, &len);

	json_string(&sink->json, bytes, len);
}

bool texts_add(const struct texts *texts, uint32_t n, struct str *to)
{
	struct text text;

	if (n >= texts->of.n || !texts->of.at[n].len)
		return false;
	text = texts->of.at[n];
	str_add(to, texts->bytes.at + text.at, text.len);
	return true;
}

int texts_keep(struct texts *texts, uint32_t n, const struct str *from,
	       size_t at)
{
	size_t len = from->len - at;

	if (from->failed)
		return -ENOMEM;
	if (n >= TEXTS_COUNT || len > TEXTS_BYTES - texts->bytes.len)
		return 0;
	if (n >= texts->of.n) {
		size_t more = n + 1 - texts->of.n;

		if (!vec_reserve(&texts->of, more))
			return -ENOMEM;
		memset(texts->of.at + texts->of.n, 0,
		       more * sizeof(*texts->of.at));
		texts->of.n += more;
	}
	texts->of.at[n] = (struct text){ .at = (uint32_t)texts->bytes.len,
					 .len = (uint32_t)len };
	str_add(&texts->bytes, from->at + at, len);
	return texts->bytes.failed ? -ENOMEM : 0;
}

void texts_free(struct texts *texts)
{
	str_free(&texts->bytes);
	vec_free(&texts->of);
}

static void add_id(struct str *to, const struct strtab *strings, uint32_t id)
{
	size_t len;
	const char *bytes = strtab_get(strings, id, &len);

	str_add(to, bytes, len);
}

uint32_t timeline_last_image(const struct history *h, uint32_t process)
{
	const struct past_process *p = &h->processes.at[process];

	return p->images ? p->image + p->images - 1 : HISTORY_NONE;
}

/* Do recordings of several machines have to be told apart? */
static bool several_hosts(const struct history *h)
{
	for (size_t i = 1; i < h->runs.n; i++)
		if (h->runs.at[i].run.host != h->runs.at[0].run.host)
			return true;
	return false;
}

void timeline_process_name(const struct history *h, uint32_t process,
			   uint32_t image, struct str *to)
{
	const struct past_process *p = &h->processes.at[process];

	if (image == HISTORY_NONE)
		image = timeline_last_image(h, process);
	if (several_hosts(h)) {
		add_id(to, h->strings, h->runs.at[p->run].run.host);
		str_puts(to, " ");
	}
	str_printf(to, "%" PRId32, p->pid);
	if (p->again)
		str_printf(to, " (%u)", p->again + 1);
	if (image != HISTORY_NONE && h->images.at[image].command) {
		str_puts(to, " ");
		add_id(to, h->strings, h->images.at[image].command);
	}
}

void timeline_thread_name(const struct history *h, uint32_t thread,
			  struct str *to)
{
	const struct past_thread *t = &h->threads.at[thread];

	str_printf(to, "%" PRId32, t->tid);
	if (t->name) {
		str_puts(to, " ");
		add_id(to, h->strings, t->name);
	}
}

const char *timeline_run_text(uint8_t run)
{
	static const char *const texts[RUN_COUNT] = {
		[RUN_IDLE] = "idle",
		[RUN_ON_CPU] = "cpu",
		[RUN_STOPPED] = "stopped",
	};

	return run < RUN_COUNT ? texts[run] : NULL;
}

const char *timeline_gil_text(uint8_t gil)
{
	static const char *const texts[GIL_COUNT] = {
		[GIL_NONE] = "none",
		[GIL_HELD] = "held",
		[GIL_WAITED] = "waited",
	};

	return gil < GIL_COUNT ? texts[gil] : NULL;
}

const char *timeline_wait_text(uint8_t wait)
{
	static const char *const texts[WAIT_COUNT] = {
		[WAIT_GIL] = "gil",       [WAIT_LOCK] = "lock",
		[WAIT_PIPE] = "pipe",     [WAIT_SOCKET] = "socket",
		[WAIT_FILE] = "file",     [WAIT_POLL] = "poll",
		[WAIT_TIME] = "time",     [WAIT_PROCESS] = "process",
		[WAIT_SIGNAL] = "signal", [WAIT_OTHER] = "other",
	};

	return wait < WAIT_COUNT ? texts[wait] : NULL;
}

const char *timeline_status_text(const struct past_process *process,
				 char text[32])
{
	unsigned status = (unsigned)process->status;

	if (!process->left || !process->has_status)
		return NULL;
	/* As wait(2) packs it: the signal below, the exit status above. */
	if (status & 0x7f)
		snprintf(text, 32, "signal %u", status & 0x7f);
	else
		snprintf(text, 32, "exit %u", status >> 8 & 0xff);
	return text;
}

uint32_t numbers_turn(struct numbers *numbers, int32_t number, uint32_t process)
{
	uint64_t key = (uint64_t)(uint32_t)number << 32 | process;
	uint64_t turn = 0;

	if (map_get(&numbers->given, key, &turn))
		return (uint32_t)turn;
	map_get(&numbers->users, (uint32_t)number, &turn);
	if (!map_put(&numbers->users, (uint32_t)number, turn + 1) ||
	    !map_put(&numbers->given, key, turn))
		return UINT32_MAX;
	return (uint32_t)turn;
}

void numbers_free(struct numbers *numbers)
{
	map_free(&numbers->users);
	map_free(&numbers->given);
}
