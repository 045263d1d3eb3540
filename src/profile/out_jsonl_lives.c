/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/out_jsonl_internal.h"

#include <errno.h>
#include <stdlib.h>

#include "profile/summary.h"

static int happening_order(const void *a, const void *b)
{
	const struct jsonl_happening *x = a, *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->of < y->of ? -1 : x->of > y->of;
}

int jsonl_birth(struct jsonl *v, uint32_t process)
{
	const struct history *h = v->tl.history;
	const struct past_process *p = &h->processes.at[process];
	const struct past_image *image = &h->images.at[p->image];

	if (v->told[process])
		return 0;
	v->told[process] = true;
	jsonl_begin(v, "process");
	jsonl_process(v, process);
	jsonl_ppid(v, process);
	if (p->parent == HISTORY_NONE)
		jsonl_null(v, "parent");
	else
		jsonl_u64(v, "parent", p->parent);
	jsonl_u64(v, "run", p->run);
	jsonl_u64(v, "born_ns", p->born_ns);
	jsonl_bool(v, "before", p->before);
	jsonl_id(v, "command", image->command);
	jsonl_id(v, "python", image->python);
	jsonl_u64(v, "uid", p->uid);
	if (p->ns_pid)
		jsonl_i64(v, "ns_pid", p->ns_pid);
	if (p->pid_ns)
		jsonl_u64(v, "pid_ns", p->pid_ns);
	if (p->cgroup)
		jsonl_id(v, "cgroup", p->cgroup);
	return jsonl_end(v);
}

static int add_exec(struct jsonl *v, uint32_t number)
{
	const struct past_image *image = &v->tl.history->images.at[number];
	int r = jsonl_birth(v, image->process);

	if (r)
		return r;
	jsonl_begin(v, "exec");
	jsonl_process(v, image->process);
	jsonl_u64(v, "at_ns", image->at_ns);
	jsonl_id(v, "command", image->command);
	jsonl_id(v, "python", image->python);
	return jsonl_end(v);
}

static int add_end(struct jsonl *v, uint32_t process)
{
	const struct past_process *p = &v->tl.history->processes.at[process];
	unsigned status = (unsigned)p->status;
	int r = jsonl_birth(v, process);

	if (r)
		return r;
	jsonl_begin(v, "end");
	jsonl_process(v, process);
	jsonl_u64(v, "at_ns", p->left_ns);
	jsonl_bool(v, "left", p->left);
	/* As wait(2) packs it. */
	if (!p->left || !p->has_status) {
		jsonl_null(v, "exit");
		jsonl_null(v, "signal");
	} else if (status & 0x7f) {
		jsonl_null(v, "exit");
		jsonl_u64(v, "signal", status & 0x7f);
	} else {
		jsonl_u64(v, "exit", status >> 8 & 0xff);
		jsonl_null(v, "signal");
	}
	json_put_text(&v->sink.json, "verdict",
		      p->verdict < VERDICT_COUNT
			      ? verdict_name((enum verdict)p->verdict)
			      : NULL);
	return jsonl_end(v);
}

static int add_note(struct jsonl *v, uint32_t number)
{
	static const char *const texts[] = {
		[NOTE_LOST] = "lost",
		[NOTE_RATE] = "rate",
		[NOTE_GAP] = "gap",
		[NOTE_LATE] = "late",
	};
	const struct record_note *note = &v->tl.history->notes.at[number];

	jsonl_begin(v, "note");
	json_put_text(&v->sink.json, "kind",
		      note->kind <= NOTE_LATE ? texts[note->kind] : NULL);
	jsonl_u64(v, "at_ns", note->at_ns);
	jsonl_u64(v, "value", note->value);
	return jsonl_end(v);
}

static int add_happening(struct jsonl *v,
			 const struct jsonl_happening *happening)
{
	switch ((enum jsonl_kind)happening->kind) {
	case JSONL_BORN:
		return jsonl_birth(v, happening->of);
	case JSONL_EXEC:
		return add_exec(v, happening->of);
	case JSONL_NOTE:
		return add_note(v, happening->of);
	case JSONL_END:
		break;
	}
	return add_end(v, happening->of);
}

int jsonl_happenings(struct jsonl *v, uint64_t until_ns)
{
	int r = 0;

	while (!r && v->happened < v->happenings.n &&
	       v->happenings.at[v->happened].at_ns <= until_ns)
		r = add_happening(v, &v->happenings.at[v->happened++]);
	return r;
}

static bool plan(struct jsonl *v, uint64_t at_ns, enum jsonl_kind kind,
		 size_t of)
{
	struct jsonl_happening happening = { .at_ns = at_ns,
					     .kind = (uint8_t)kind,
					     .of = (uint32_t)of };

	return vec_push(&v->happenings, happening);
}

/* All that happens beside the slices, in the order of time. */
int jsonl_plan(struct jsonl *v)
{
	const struct history *h = v->tl.history;
	bool ok = true;

	for (size_t i = 0; ok && i < h->processes.n; i++) {
		const struct past_process *p = &h->processes.at[i];

		if (!v->tl.selection.processes[i])
			continue;
		ok = plan(v, p->born_ns, JSONL_BORN, i) &&
		     plan(v, p->left_ns, JSONL_END, i);
		for (uint32_t k = 1; ok && k < p->images; k++)
			ok = plan(v, h->images.at[p->image + k].at_ns,
				  JSONL_EXEC, p->image + k);
	}
	for (size_t i = 0; ok && i < h->notes.n; i++)
		ok = plan(v, h->notes.at[i].at_ns, JSONL_NOTE, i);
	if (!ok)
		return -ENOMEM;
	if (v->happenings.n)
		qsort(v->happenings.at, v->happenings.n,
		      sizeof(*v->happenings.at), happening_order);
	return 0;
}
