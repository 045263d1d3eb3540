/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/out_pprof.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "profile/protobuf.h"

enum label_field {
	LABEL_KEY = 1,
	LABEL_STR = 2,
	LABEL_NUM = 3,
	LABEL_UNIT = 4,
};

/* --- strings: valid UTF-8, and safe to print */

uint32_t pprof_literal(struct pprof *p, const char *text)
{
	uint32_t id = strtab_id(p->strings, text, strlen(text));

	if (id == STRTAB_NONE)
		p->to.failed = true;
	return id;
}

uint32_t pprof_escaped(struct pprof *p, const char *bytes, size_t len)
{
	uint32_t id;

	if (!len)
		return 0;
	str_clear(&p->text);
	str_escape(&p->text, bytes, len, "");
	id = p->text.failed ? STRTAB_NONE
			    : strtab_id(p->strings, p->text.at, p->text.len);
	if (id == STRTAB_NONE)
		p->to.failed = true;
	return id;
}

/* A string of the history. */
uint32_t pprof_string(struct pprof *p, uint32_t string)
{
	size_t len;
	const char *bytes = strtab_get(p->h->strings, string, &len);

	if (p->string_of[string] == PPROF_UNSET)
		p->string_of[string] = pprof_escaped(p, bytes, len);
	return p->string_of[string];
}

/* --- labels */

static void label_text(struct pprof *p, const char *key, uint32_t text)
{
	if (!text)
		return;
	str_clear(&p->part);
	protobuf_number(&p->part, LABEL_KEY, pprof_literal(p, key));
	protobuf_number(&p->part, LABEL_STR, text);
	protobuf_bytes(&p->whole, SAMPLE_LABEL, p->part.at, p->part.len);
}

static void label_number(struct pprof *p, const char *key, int32_t value)
{
	str_clear(&p->part);
	protobuf_number(&p->part, LABEL_KEY, pprof_literal(p, key));
	protobuf_number(&p->part, LABEL_NUM, (uint64_t)(int64_t)value);
	/* The key as its own unit: readers guess one otherwise. */
	protobuf_number(&p->part, LABEL_UNIT, pprof_literal(p, key));
	protobuf_bytes(&p->whole, SAMPLE_LABEL, p->part.at, p->part.len);
}

static void label_thread(struct pprof *p, const struct past_thread *thread)
{
	char number[16];

	label_number(p, "pid", p->h->processes.at[thread->process].pid);
	label_number(p, "tid", thread->tid);
	(void)snprintf(number, sizeof(number), "%" PRId32, thread->tid);
	label_text(p, "thread",
		   thread->name ? pprof_string(p, thread->name)
				: pprof_literal(p, number));
}

/* The id of the labels of a thread. */
uint32_t pprof_labels(struct pprof *p, uint32_t number)
{
	const struct past_thread *thread = &p->h->threads.at[number];
	const struct past_process *process =
		&p->h->processes.at[thread->process];
	const struct past_image *image = &p->h->images.at[thread->image];
	enum query_group group = p->query->group;
	uint32_t id = p->labels_of[number];

	if (id != PPROF_UNSET)
		return id;
	str_clear(&p->whole);
	if (group == GROUP_PROCESS || group == GROUP_THREAD)
		label_thread(p, thread);
	if (group != GROUP_ALL) {
		label_text(p, "process", pprof_string(p, image->command));
		label_text(p, "python", pprof_string(p, image->python));
	}
	label_text(p, "host",
		   pprof_string(p, p->h->runs.at[process->run].run.host));
	if (p->part.failed || p->whole.failed)
		return STRTAB_NONE;
	id = strtab_id(p->labels, p->whole.len ? p->whole.at : "",
		       p->whole.len);
	p->labels_of[number] = id;
	return id;
}
