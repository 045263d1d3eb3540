/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/recorder_internal.h"

#include <errno.h>
#include <string.h>

/* A block is compressed, and lost when damaged, as a whole. */
#define BLOCK_TARGET (128u << 10)

#define RECORD_HEAD_MAX (1 + VARINT_MAX)

void recorder_fail(struct recorder *rec, int error)
{
	if (!rec->error)
		rec->error = error;
}

bool recorder_room(struct recorder *rec, size_t max)
{
	size_t cut = rec->cuts.n ? rec->cuts.at[rec->cuts.n - 1] : 0;

	if (rec->error)
		return false;
	if (rec->pending.n > cut && rec->pending.n - cut + max > BLOCK_TARGET) {
		if (!vec_push(&rec->cuts, rec->pending.n)) {
			recorder_fail(rec, -ENOMEM);
			return false;
		}
		wire_block_begin(&rec->block);
	}
	if (!vec_reserve(&rec->pending, max)) {
		recorder_fail(rec, -ENOMEM);
		return false;
	}
	return true;
}

void recorder_put(struct recorder *rec, enum record_kind kind,
		  const void *bytes, size_t len)
{
	uint8_t *to;

	if (!recorder_room(rec, RECORD_HEAD_MAX + len))
		return;
	to = rec->pending.at + rec->pending.n;
	*to++ = (uint8_t)kind;
	to += varint_put(to, len);
	if (len)
		memcpy(to, bytes, len);
	rec->pending.n = (size_t)(to - rec->pending.at) + len;
}

void recorder_put_fields(struct recorder *rec, enum record_kind kind,
			 const struct fields *fields)
{
	recorder_put(rec, kind, fields->at, fields->n);
}

/* --- strings, frames, stacks ------------------------------------------------ */

static uint32_t number_of(const struct numbering *numbers, uint32_t serial)
{
	return serial < numbers->of.n ? numbers->of.at[serial] : RECORD_NONE;
}

/* Give @serial the next number. False without memory. */
static bool give_number(struct recorder *rec, struct numbering *numbers,
			uint32_t serial)
{
	size_t more = (size_t)serial + 1;

	if (rec->error)
		return false;
	if (more > numbers->of.n) {
		more -= numbers->of.n;
		if (!vec_reserve(&numbers->of, more)) {
			recorder_fail(rec, -ENOMEM);
			return false;
		}
		memset(numbers->of.at + numbers->of.n, 0xff,
		       more * sizeof(*numbers->of.at));
		numbers->of.n += more;
	}
	numbers->of.at[serial] = numbers->next++;
	return true;
}

uint32_t recorder_string(struct recorder *rec, uint32_t string)
{
	const char *bytes;
	size_t len;

	if (string >= strtab_count(rec->strings))
		string = 0;
	if (number_of(&rec->string, string) != RECORD_NONE)
		return number_of(&rec->string, string);
	if (!give_number(rec, &rec->string, string))
		return 0;
	bytes = strtab_get(rec->strings, string, &len);
	recorder_put(rec, RECORD_STRING, bytes,
		     len < WIRE_STRING_MAX ? len : WIRE_STRING_MAX);
	return number_of(&rec->string, string);
}

static uint32_t define_frame(struct recorder *rec, uint32_t serial)
{
	struct fields f = { .n = 0 };
	struct frame frame;
	uint32_t function, file;

	if (number_of(&rec->frame, serial) != RECORD_NONE)
		return number_of(&rec->frame, serial);
	frame = stacks_frame_at(rec->stacks, serial);
	function = recorder_string(rec, frame.function);
	file = recorder_string(rec, frame.file);
	if (!give_number(rec, &rec->frame, serial))
		return 0;
	/* New names are used at once: the distance from the newest is short. */
	field_u64(&f, rec->string.next - 1 - function);
	field_u64(&f, rec->string.next - 1 - file);
	field_i64(&f, frame.line);
	recorder_put_fields(rec, RECORD_FRAME, &f);
	return number_of(&rec->frame, serial);
}

static void define_stack(struct recorder *rec, uint32_t serial)
{
	struct stack stack = stacks_at(rec->stacks, serial);
	uint32_t frame = define_frame(rec, stack.frame);
	uint32_t parent = 0;
	struct fields f = { .n = 0 };

	if (stack.parent != STACKS_EMPTY)
		parent = number_of(&rec->stack, stack.parent);
	field_u64(&f, rec->stack.next - 1 - parent);
	field_u64(&f, rec->frame.next - 1 - frame);
	if (give_number(rec, &rec->stack, serial))
		recorder_put_fields(rec, RECORD_STACK, &f);
}

uint32_t recorder_stack(struct recorder *rec, uint32_t stack)
{
	uint32_t at = stack;

	if (stack == STACKS_EMPTY || stack >= stacks_count(rec->stacks))
		return 0;
	rec->chain.n = 0;
	while (at != STACKS_EMPTY &&
	       number_of(&rec->stack, at) == RECORD_NONE) {
		if (!vec_push(&rec->chain, at)) {
			recorder_fail(rec, -ENOMEM);
			return 0;
		}
		at = stacks_at(rec->stacks, at).parent;
	}
	while (rec->chain.n > 0 && !rec->error)
		define_stack(rec, rec->chain.at[--rec->chain.n]);
	return rec->error ? 0 : number_of(&rec->stack, stack);
}

/* --- what is known ---------------------------------------------------------- */

void recorder_put_run(struct recorder *rec)
{
	const struct record_run *run = &rec->run;
	struct fields f = { .n = 0 };

	field_u64(&f, recorder_time(run->unix_ns));
	field_u64(&f, recorder_time(run->interval_ns));
	field_u64(&f, recorder_time(run->start_ns));
	field_u64(&f, run->cpus);
	field_u64(&f, recorder_string(rec, run->host));
	field_u64(&f, recorder_string(rec, run->version));
	field_u64(&f, recorder_string(rec, run->title));
	field_u64(&f, recorder_string(rec, run->events));
	field_u64(&f, recorder_string(rec, run->oncpu));
	recorder_put_fields(rec, RECORD_RUN, &f);
}

void recorder_put_process(struct recorder *rec, struct known_process *known)
{
	const struct record_process *is = &known->is;
	const struct known_process *parent =
		recorder_known_process(rec, is->parent);
	struct fields f = { .n = 0 };

	field_u64(&f, parent ? (uint64_t)parent->number + 1 : 0);
	field_i64(&f, is->pid);
	field_i64(&f, is->ns_pid);
	field_u64(&f, recorder_time(is->born_ns));
	field_u64(&f, is->pid_ns);
	field_u64(&f, is->uid);
	field_u64(&f, recorder_string(rec, is->cgroup));
	field_u64(&f, is->before);
	known->number = rec->next_process++;
	recorder_put_fields(rec, RECORD_PROCESS, &f);
}

void recorder_put_process_end(struct recorder *rec,
			      const struct known_process *known)
{
	const struct record_process_end *end = &known->end;
	struct fields f = { .n = 0 };

	field_u64(&f, known->number);
	field_u64(&f, recorder_time(end->at_ns));
	field_u64(&f, end->verdict);
	field_u64(&f, (unsigned)end->left | (unsigned)end->has_status << 1);
	field_i64(&f, end->status);
	recorder_put_fields(rec, RECORD_PROCESS_END, &f);
}

void recorder_put_image(struct recorder *rec, struct known_image *known)
{
	const struct known_process *process =
		recorder_known_process(rec, known->is.process);
	struct fields f = { .n = 0 };

	if (!process)
		return;
	field_u64(&f, process->number);
	field_u64(&f, recorder_time(known->is.at_ns));
	field_u64(&f, recorder_string(rec, known->is.command));
	field_u64(&f, recorder_string(rec, known->is.python));
	known->number = rec->next_image++;
	recorder_put_fields(rec, RECORD_IMAGE, &f);
}

void recorder_put_image_title(struct recorder *rec,
			      const struct known_image *known)
{
	struct fields f = { .n = 0 };

	field_u64(&f, known->number);
	field_u64(&f, recorder_string(rec, known->title));
	recorder_put_fields(rec, RECORD_IMAGE_TITLE, &f);
}

void recorder_put_thread(struct recorder *rec, struct known_thread *known)
{
	const struct known_process *process =
		recorder_known_process(rec, known->is.process);
	const struct known_image *image =
		recorder_known_image(rec, known->is.image);
	struct fields f = { .n = 0 };

	if (!process || !image)
		return;
	field_u64(&f, process->number);
	field_u64(&f, image->number);
	field_i64(&f, known->is.tid);
	field_u64(&f, recorder_time(known->is.born_ns));
	known->number = rec->next_thread++;
	recorder_put_fields(rec, RECORD_THREAD, &f);
}

void recorder_put_thread_name(struct recorder *rec,
			      const struct known_thread *known)
{
	struct fields f = { .n = 0 };

	field_u64(&f, known->number);
	field_u64(&f, recorder_string(rec, known->name));
	recorder_put_fields(rec, RECORD_THREAD_NAME, &f);
}

void recorder_put_stand(struct recorder *rec, const struct known_thread *known)
{
	const struct record_stand *stand = &known->stand;
	struct fields f = { .n = 0 };

	field_u64(&f, known->number);
	field_u64(&f, recorder_time(stand->start_ns));
	field_u64(&f, wire_state(&stand->seen));
	field_u64(&f, recorder_stack(rec, stand->seen.stack));
	recorder_put_fields(rec, RECORD_STAND, &f);
}

/* --- slices ----------------------------------------------------------------- */

/* CPU time, the shortest way. Returns its flags. */
static unsigned put_cpu(struct fields *f, const struct weight *weight)
{
	uint64_t less =
		varint_fold((int64_t)(weight->wall_ns - weight->cpu_ns));

	if (less == 0)
		return WIRE_SLICE_CPU_WALL;
	if (weight->cpu_ns == 0)
		return WIRE_SLICE_CPU_NONE;
	field_u64(f, weight->cpu_ns < less ? weight->cpu_ns : less);
	return weight->cpu_ns < less ? WIRE_SLICE_CPU_OWN : WIRE_SLICE_CPU_LESS;
}

/* Write the fields of a slice, in numbers of the file. Returns their flags. */
static uint8_t put_differences(struct fields *f, const struct slice *slice,
			       const struct wire_block *block,
			       const struct wire_last *expected, uint8_t state)
{
	const struct weight *weight = &slice->weight;
	unsigned flags = 0;

	if (slice->thread != block->thread) {
		flags |= WIRE_SLICE_THREAD;
		field_i64(f, (int64_t)slice->thread - block->thread);
	}
	if (slice->start_ns != expected->end_ns) {
		flags |= WIRE_SLICE_START;
		field_i64(f, (int64_t)(slice->start_ns - expected->end_ns));
	}
	if (state != expected->state) {
		flags |= WIRE_SLICE_STATE;
		f->at[f->n++] = state;
	}
	if (slice->seen.stack != expected->stack) {
		flags |= WIRE_SLICE_STACK;
		field_i64(f, (int64_t)slice->seen.stack - expected->stack);
	}
	field_u64(f, weight->wall_ns);
	flags |= put_cpu(f, weight);
	if (weight->samples != 1) {
		flags |= WIRE_SLICE_SAMPLES;
		field_u64(f, weight->samples);
	}
	return (uint8_t)(WIRE_SLICE | flags);
}

void recorder_put_slice(struct recorder *rec, struct known_thread *known)
{
	struct slice slice = known->open;
	uint8_t state = wire_state(&slice.seen);
	struct fields f = { .n = 1 };

	if (!known->has_open)
		return;
	known->has_open = false;
	slice.thread = known->number;
	slice.start_ns = recorder_time(slice.start_ns);
	slice.weight.wall_ns = recorder_time(slice.weight.wall_ns);
	slice.weight.cpu_ns = recorder_time(slice.weight.cpu_ns);
	slice.weight.samples = recorder_time(slice.weight.samples);
	slice.seen.stack = recorder_stack(rec, slice.seen.stack);
	/* Before the differences are taken: another block may begin. */
	if (!recorder_room(rec, WIRE_SLICE_MAX))
		return;
	f.at[0] = put_differences(&f, &slice, &rec->block,
				  wire_expect(&rec->block, &known->last),
				  state);
	memcpy(rec->pending.at + rec->pending.n, f.at, f.n);
	rec->pending.n += f.n;
	wire_passed(&rec->block, &known->last, &slice, state);
}
