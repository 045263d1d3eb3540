/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/outcome.h"
#include "linux/clock.h"
#include "linux/task.h"
#include "session_sample.h"

/* The program images of processes: is there a Python in one, and which. */

/*
 * An image that is not a Python yet is looked at again after these times, in ms, and
 * then at the last interval: a program may load a Python whenever it likes. A look
 * takes some 0.1 ms, a minute apart.
 */
static const unsigned probe_ms[] = { 1,    2,    3,     5,    8,   15,
				     30,   60,   120,   250,  500, 1000,
				     2000, 5000, 15000, 60000 };
#define DENIED_PROBES 3
#define PROBES (sizeof(probe_ms) / sizeof(*probe_ms))

/* One that has a Python is looked at for a second one, too, from there on. */
#define PROBES_SECOND 7

/* A new process is sampled at its birth and then after 1/4, 1/2, 1, 2, ... ms. */
#define YOUNG_STEP_NS (NSEC_PER_MSEC / 4)

/*
 * No interpreter lives for less CPU time than this. Measured on an AMD Milan:
 * all of the life of the smallest, 2.7 with -S -E -c pass, takes 3.7 ms, 3.11's
 * 6.7 ms, and 3.11 has its first frame after 1.5 ms.
 */
#define PYTHON_LIFE_NS NSEC_PER_MSEC

void image_drop(struct image *image)
{
	if (!image || --image->refs)
		return;
	codecache_free(image->codes);
	codecache_free(image->second_codes);
	free(image);
}

/* Give @p the image that it inherited. */
int process_share_image(struct process *p, struct image *image)
{
	if (!vec_push(&p->images, image))
		return -ENOMEM;
	image->refs++;
	p->rec_image = RECORD_NONE;
	return 0;
}

/*
 * Give @p a new image of its own. It may be about to end: what can be told of it
 * is asked for at once, the most telling first.
 */
int process_add_image(struct forkflame *ff, struct process *p)
{
	struct image *image = calloc(1, sizeof(*image));
	struct str command = { 0 };
	uint32_t name = 0;

	if (!image)
		return -ENOMEM;
	*image = (struct image){ .refs = 1 };
	if (task_there(p->pid, p->pid) && session_first_look(ff, p->pid, &name))
		image->verdict = VERDICT_NOT_PYTHON;
	if (task_there(p->pid, p->pid) &&
	    procfs_command(&ff->fs, p->pid, &command, NULL) == 0 && command.len)
		name = strtab_id(ff->strings, command.at, command.len);
	str_free(&command);
	image->command = name;
	if (name == STRTAB_NONE || !vec_push(&p->images, image)) {
		free(image);
		return -ENOMEM;
	}
	p->rec_image = RECORD_NONE;
	p->walked = false;
	p->probes = 0;
	p->active_interp = 0;
	p->sampling = false;
	p->title = 0;
	p->title_due_ns = 0;
	/* Whoever execs becomes the leader, and is alone. */
	p->reader = 0;
	p->leaderless = false;
	return 0;
}

/* A Python was found: its threads are known from now on. */
void process_begin_sampling(struct forkflame *ff, struct process *p)
{
	struct todo young = { .at_ns = clock_now() + YOUNG_STEP_NS,
			      .serial = p->serial,
			      .kind = TODO_YOUNG,
			      .step_ns = YOUNG_STEP_NS };

	watch_python(ff, p);
	session_watch_title(ff, p);
	session_need_oncpu(ff, p);
	if (ff->watch.write)
		return;
	p->sampling = true;
	if (!p->threads.n)
		(void)process_refresh(ff, p);
	kernel_offer(ff, p);
	/* It may load another one. What was forked has what its parent has. */
	if (!p->forked && !p->copied) {
		p->probes = PROBES_SECOND;
		process_probe_again(ff, p);
	}
	/*
	 * A child that is on its way to an exec will be there in some hundred
	 * microseconds: it is not worth a stop. Before it has run for the first
	 * time, and while it waits for a CPU, it needs none.
	 */
	session_sample_process(ff, p, process_was_there(ff, p));
	if (YOUNG_STEP_NS < ff->options.interval_ns)
		session_todo_put(ff, young);
}

/*
 * What was found is of @p alone: a Python was loaded into a program that had none, or
 * (@always) it is none that we know, and news of the exec that made it so is still
 * under way. Those who were forked before that, or forked this one, have none.
 */
static struct image *image_part(struct process *p, bool always)
{
	struct image *image = process_image(p);
	struct image *own;

	if (image->refs == 1 ||
	    (!always && image->verdict != VERDICT_NOT_PYTHON))
		return image;
	own = calloc(1, sizeof(*own));
	if (!own)
		return NULL;
	*own = (struct image){ .refs = 1, .command = image->command };
	image_drop(image);
	p->images.at[p->images.n - 1] = own;
	return own;
}

/*
 * A second interpreter, of another library, that runs something. Both have their
 * threads; whoever shares the image has the second one if it is there.
 */
static void look_for_second(struct forkflame *ff, struct process *p)
{
	struct image *image = process_image(p);
	struct str both = { 0 };
	struct runtime rt = { 0 };

	if (image->second_codes)
		return;
	if (session_locate_second(ff, p, &image->rt, &rt) != 0)
		return;
	image->second_codes = codecache_new(ff->strings);
	if (!image->second_codes)
		return;
	image->second_rt = rt;
	str_printf(&both, "%s and %s", image->rt.version, rt.version);
	if (!both.failed)
		image->python = strtab_id(ff->strings, both.at, both.len);
	str_free(&both);
	p->walked = false;
	vec_free(&p->seen);
	(void)process_refresh(ff, p);
}

static void image_found(struct forkflame *ff, struct process *p,
			const struct runtime *rt, bool alone)
{
	struct image *image = image_part(p, false);

	if (!image)
		return;
	if (!image->codes)
		image->codes = codecache_new(ff->strings);
	if (!image->codes)
		return;
	image->rt = *rt;
	image->verdict = VERDICT_SAMPLED;
	image->python =
		strtab_id(ff->strings, rt->version, strlen(rt->version));
	/* One that we were not there to see start may have it already. */
	if (p->born_ns <= ff->start_ns && !alone)
		look_for_second(ff, p);
	process_begin_sampling(ff, p);
}

/* Has this kind been named already? One line for each is enough. */
static bool is_told(struct forkflame *ff, uint32_t python)
{
	for (size_t i = 0; i < ff->told.n; i++)
		if (ff->told.at[i] == python)
			return true;
	(void)vec_push(&ff->told, python);
	return false;
}

static void say_unknown(struct forkflame *ff, const struct process *p,
			const struct runtime *rt)
{
	bool number = rt->version[0] >= '0' && rt->version[0] <= '9';
	const char *command;
	struct str line = { 0 };
	size_t len;

	if (is_told(ff, process_image(p)->python))
		return;
	command = strtab_get(ff->strings, process_command(p), &len);
	str_printf(&line, "process %d (", p->pid);
	str_escape(&line, command, len < 80 ? len : 80, "");
	str_printf(&line,
		   ") runs %s%s, which is not known here (CPython %s are): it "
		   "and others like it are left out",
		   number ? "Python " : "", rt->version, layout_known());
	if (!line.failed)
		session_notice(ff, "%s", line.at);
	str_free(&line);
}

/* Look at the image once more after a time that grows. */
void process_probe_again(struct forkflame *ff, struct process *p)
{
	struct todo again = { .serial = p->serial, .kind = TODO_PROBE };

	again.at_ns = clock_now() + probe_ms[p->probes] * NSEC_PER_MSEC;
	if (p->probes + 1 < PROBES)
		p->probes++;
	session_todo_put(ff, again);
}

/*
 * Look at the image of @p. One that is no Python may become one: it is looked at
 * again, more and more seldom.
 */
void process_probe(struct forkflame *ff, struct process *p)
{
	struct image *image = process_image(p);
	struct runtime rt = { 0 };
	bool alone = false;
	int r;

	/* What it has become says nothing of those whose image it still shares. */
	if (image->refs > 1 && image->verdict != VERDICT_SAMPLED &&
	    session_is_another_program(ff, p)) {
		process_probe_again(ff, p);
		return;
	}
	if (p->left_out && !select_again(ff, p))
		return;
	watch_python(ff, p);
	if (image->verdict == VERDICT_SAMPLED) {
		if (!p->sampling) { /* a sharer has found it */
			process_begin_sampling(ff, p);
			return;
		}
		look_for_second(ff, p);
		if (!image->second_codes)
			process_probe_again(ff, p);
		return;
	}
	if (image->verdict == VERDICT_UNKNOWN)
		return;
	r = task_there(p->pid, p->pid) ? session_locate(ff, p, &rt, &alone)
				       : OUT_GONE;
	if (r == OUT_OK) {
		image_found(ff, p, &rt, alone);
		return;
	}
	if (r == OUT_UNKNOWN) {
		image = image_part(p, true);
		if (!image)
			return;
		image->verdict = VERDICT_UNKNOWN;
		image->python =
			strtab_id(ff->strings, rt.version, strlen(rt.version));
		if (!ff->watch.write)
			say_unknown(ff, p, &rt);
		watch_python(ff, p);
		return;
	}
	if (r == OUT_NOT_PYTHON)
		image->verdict = VERDICT_NOT_PYTHON;
	if (r == OUT_DENIED)
		image->verdict = VERDICT_DENIED;
	/* Not at once: one that ends at this moment may look like it. */
	if (r == OUT_DENIED && p->probes >= DENIED_PROBES)
		select_say_denied(ff, p);
	if (r != OUT_GONE)
		process_probe_again(ff, p);
}

/*
 * Its image had ended before it could be looked at. The kernel has told its name;
 * and where that is none of Python's, the CPU time that it used may tell that it
 * was too little for an interpreter to come up.
 */
void process_judge_late(struct forkflame *ff, struct process *p)
{
	struct image *image = process_image(p);
	const struct oncpu_thread *rec = NULL;
	uint64_t used_ns = nsec_since(p->left_ns, p->image_ns);
	char name[sizeof(rec->comm) + 2];
	int len;

	/* One that was left out was not to be looked at. */
	if (image->verdict != VERDICT_PENDING || p->left_out)
		return;
	session_drain(ff);
	if (ff->oncpu)
		rec = oncpu_find(ff->oncpu, p->pid);
	if (rec && rec->pid == p->pid && rec->first_ns >= p->born_ns) {
		used_ns = nsec_since(rec->cpu_ns, rec->image_cpu_ns);
		len = snprintf(name, sizeof(name), "[%s]", rec->comm);
		if (!image->command && rec->comm[0] && len > 0)
			image->command =
				strtab_id(ff->strings, name, (size_t)len);
	}
	if (rec && !strncmp(rec->comm, "python", 6))
		return;
	if (used_ns < PYTHON_LIFE_NS)
		image->verdict = VERDICT_NOT_PYTHON;
}
