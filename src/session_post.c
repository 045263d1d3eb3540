/* SPDX-License-Identifier: Apache-2.0 */
#include "session_post.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/outcome.h"
#include "linux/clock.h"
#include "linux/task.h"
#include "python/noted.h"
#include "session_internal.h"

/* So many wakings with nothing to do, and it sleeps until it is asked again. */
#define IDLE_MAX 3

/* So many images it knows the code of; then it forgets the first. */
#define IMAGES_MAX 16

/* With more names or stacks than these it forgets all, and begins anew. */
#define NAMES_MAX (1u << 20)
#define STACKS_MAX (1u << 22)

/* Code objects of an image, as this post has seen them. */
struct post_image {
	struct image *image;
	struct codecache *codes;
};

struct post {
	pthread_t thread;
	pid_t tid;
	const struct post_plan *plan;
	bool gil;
	sem_t ready;
	int wake; /* eventfd */
	atomic_bool parked, quit;
	_Atomic int state; /* enum post_state */

	/* The thread's while it is busy, the caller's else. */
	struct post_task task;
	struct post_found found;
	struct runtime rt;
	struct codecache *codes; /* of the task's image */
	struct seat seat; /* of the task, with what is expected of its stack */
	struct codeseen seen; /* of its process */
	struct remote *remote;
	struct mem mem;
	struct prefetch *prefetch;
	struct rawframe *raw;
	uint32_t *ids;
	struct frame *frames;
	struct strtab *names;
	struct stacks *stacks;
	struct VEC(struct post_image) images;

	/*
	 * The caller's: its numbers of our names and stacks. STRTAB_NONE, STACKS_NONE:
	 * not asked for yet.
	 */
	struct VEC(uint32_t) their_names, their_stacks;
};

static uint32_t decode(struct post *post, size_t n)
{
	size_t frames = 0;

	for (size_t i = 0; i < n; i++) {
		struct frame frame = codecache_frame(post->codes, post->ids[i],
						     &post->raw[i]);

		if (frame.function)
			post->frames[frames++] = frame;
	}
	return stacks_put(post->stacks, post->frames, frames);
}

/* Next to the stack, in the same proof. */
static int look_around(struct post *post)
{
	const struct runtime *rt = &post->rt;

	struct noted noted = { .behind = prefetch_mem(post->prefetch),
			       .hint = &post->seat.hint };
	const struct mem mem = noted_mem(&noted);
	uint64_t holder = 0;
	int r = runtime_mark(&mem, rt, &post->found.mark);

	if (r == 0 && post->gil &&
	    runtime_gil_holder(&mem, rt, post->seat.interp, &holder) == 0)
		post->found.gil = holder == post->seat.tstate ? GIL_HELD
							      : GIL_NONE;
	return r;
}

/* One whose stack is too deep, or has a mark where frames are missing, is not for us. */
static int read_stack(struct post *post, size_t *ret_n)
{
	const struct mem *mem = prefetch_mem(post->prefetch);
	const struct runtime *rt = &post->rt;
	struct seat *seat = &post->seat;
	int r;

	post->remote->pid = post->task.tid;
	r = frame_walk_batched(&post->mem, &rt->layout, seat->tstate,
			       post->prefetch, &seat->hint, post->raw,
			       FRAMES_MAX, ret_n);
	if (r == 0)
		r = seat_check_owner(mem, &rt->layout, seat, post->task.tid);
	if (r == 0)
		r = codecache_capture(post->codes, &post->seen, mem,
				      &rt->layout, post->raw, *ret_n,
				      post->ids);
	if (r == 0)
		codecache_expect(post->codes, &seat->hint);
	if (r == 0)
		r = look_around(post);
	return r;
}

static void work(struct post *post)
{
	struct post_found *found = &post->found;
	size_t n = 0;

	*found = (struct post_found){ .from_ns = clock_now() };
	found->r = read_stack(post, &n);
	found->to_ns = clock_now();
	found->empty = n == 0;
	if (found->r == 0)
		found->stack = decode(post, n);
}

static bool begin(struct post *post)
{
	int asked = POST_ASKED;

	return atomic_compare_exchange_strong(&post->state, &asked, POST_BUSY);
}

/* When to wake next; 0: nothing is planned. */
static uint64_t next_ns(const struct post *post)
{
	uint64_t lead_ns = atomic_load(&post->plan->lead_ns);
	uint64_t soon_ns = clock_now() + lead_ns;
	uint64_t at_ns = atomic_load(&post->plan->next_ns);

	if (at_ns <= soon_ns)
		at_ns = atomic_load(&post->plan->after_ns);
	return at_ns > soon_ns ? at_ns - lead_ns : 0;
}

/* Until @at_ns (UINT64_MAX: for ever), or somebody wants something. */
static void wait_until(struct post *post, uint64_t at_ns)
{
	struct pollfd wanted = { .fd = post->wake, .events = POLLIN };
	uint64_t left_ns = nsec_since(at_ns, clock_now()), count;
	struct timespec left = { .tv_sec = (time_t)(left_ns / NSEC_PER_SEC),
				 .tv_nsec = (long)(left_ns % NSEC_PER_SEC) };

	if (ppoll(&wanted, 1, at_ns == UINT64_MAX ? NULL : &left, NULL) > 0)
		(void)!read(post->wake, &count, sizeof(count));
}

static void sleep_until(struct post *post, uint64_t at_ns)
{
	while (clock_now() < at_ns && !atomic_load(&post->quit))
		wait_until(post, at_ns);
}

/* Until it is asked. Whoever asks looks for parked after he has asked. */
static void park(struct post *post)
{
	atomic_store(&post->parked, true);
	if (post_state(post) != POST_ASKED && !atomic_load(&post->quit))
		wait_until(post, UINT64_MAX);
	atomic_store(&post->parked, false);
}

static void wake(struct post *post)
{
	const uint64_t one = 1;

	(void)!write(post->wake, &one, sizeof(one));
}

static void *post_main(void *ctx)
{
	struct urgency before = { 0 };
	struct post *post = ctx;
	unsigned idle = 0;
	sigset_t all;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, NULL);
	urgency_raise(&before);
	post->tid = task_self();
	(void)sem_post(&post->ready);
	while (!atomic_load(&post->quit)) {
		uint64_t at_ns = next_ns(post);

		if ((!at_ns && post_state(post) != POST_ASKED) ||
		    idle >= IDLE_MAX) {
			park(post);
			idle = 0;
			continue;
		}
		/* Asked too late for all that is planned: at once, then. */
		if (at_ns)
			sleep_until(post, at_ns);
		if (!begin(post)) {
			idle++;
			continue;
		}
		idle = 0;
		work(post);
		atomic_store(&post->state, POST_FOUND);
	}
	return NULL;
}

static void forget(struct post *post)
{
	for (size_t i = 0; i < post->images.n; i++) {
		codecache_free(post->images.at[i].codes);
		image_drop(post->images.at[i].image);
	}
	post->images.n = 0;
	post->seen.n = 0;
	post->their_names.n = post->their_stacks.n = 0;
	stacks_free(post->stacks);
	strtab_free(post->names);
	post->names = strtab_new();
	post->stacks = stacks_new();
}

static void release(struct post *post)
{
	forget(post);
	stacks_free(post->stacks);
	strtab_free(post->names);
	prefetch_free(post->prefetch);
	stackhint_free(&post->seat.hint);
	vec_free(&post->seen);
	vec_free(&post->images);
	vec_free(&post->their_names);
	vec_free(&post->their_stacks);
	free(post->remote);
	free(post->raw);
	free(post->ids);
	free(post->frames);
	if (post->wake >= 0)
		(void)close(post->wake);
	free(post);
}

int post_new(struct post **ret, const struct post_plan *plan, bool gil)
{
	struct post *post = calloc(1, sizeof(*post));
	int r = -ENOMEM;

	*ret = NULL;
	if (!post)
		return r;
	post->plan = plan;
	post->gil = gil;
	post->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	post->remote = calloc(1, sizeof(*post->remote));
	post->prefetch = prefetch_new();
	post->raw = calloc(FRAMES_MAX, sizeof(*post->raw));
	post->ids = calloc(FRAMES_MAX, sizeof(*post->ids));
	post->frames = calloc(FRAMES_MAX, sizeof(*post->frames));
	post->names = strtab_new();
	post->stacks = stacks_new();
	if (!post->remote || !post->prefetch || !post->raw || !post->ids ||
	    !post->frames || !post->names || !post->stacks)
		goto failed;
	if (post->wake < 0) {
		r = -errno;
		goto failed;
	}
	post->mem = remote_mem(post->remote);
	(void)sem_init(&post->ready, 0, 0);
	r = -pthread_create(&post->thread, NULL, post_main, post);
	if (r < 0)
		goto failed;
	while (sem_wait(&post->ready) < 0 && errno == EINTR)
		;
	*ret = post;
	return 0;
failed:
	release(post);
	return r;
}

void post_free(struct post *post)
{
	if (!post)
		return;
	atomic_store(&post->quit, true);
	wake(post);
	(void)pthread_join(post->thread, NULL);
	(void)sem_destroy(&post->ready);
	release(post);
}

pid_t post_tid(const struct post *post)
{
	return post->tid;
}

enum post_state post_state(const struct post *post)
{
	return (enum post_state)atomic_load(&post->state);
}

/* Code objects of an image that nobody has any more are of no use. */
static void drop_image(struct post *post, size_t i)
{
	codecache_free(post->images.at[i].codes);
	image_drop(post->images.at[i].image);
	vec_take_out(&post->images, i);
}

static struct codecache *codes_of(struct post *post, struct image *image)
{
	struct post_image known = { .image = image };

	for (size_t i = 0; i < post->images.n; i++)
		if (post->images.at[i].image == image)
			return post->images.at[i].codes;
	for (size_t i = post->images.n; i-- > 0;)
		if (post->images.at[i].image->refs == 1)
			drop_image(post, i);
	if (post->images.n == IMAGES_MAX)
		drop_image(post, 0);
	known.codes = codecache_new(post->names);
	if (!known.codes || !vec_push(&post->images, known)) {
		codecache_free(known.codes);
		return NULL;
	}
	image->refs++;
	return known.codes;
}

bool post_ask(struct post *post, const struct post_task *task)
{
	bool same = task->serial == post->task.serial &&
		    task->image == post->task.image;

	if (post->names && post->stacks &&
	    (strtab_count(post->names) > NAMES_MAX ||
	     stacks_count(post->stacks) > STACKS_MAX)) {
		forget(post);
		same = false;
	}
	if (!post->names || !post->stacks)
		return false;
	post->codes = codes_of(post, task->image);
	if (!post->codes)
		return false;
	if (!same)
		post->seen.n = 0;
	if (!same || task->tstate != post->seat.tstate)
		stackhint_free(&post->seat.hint);
	post->seat.tstate = task->tstate;
	post->seat.interp = task->interp;
	post->seat.pthread = task->pthread;
	post->seat.native = task->native;
	post->task = *task;
	post->rt = task->image->rt;
	atomic_store(&post->state, POST_ASKED);
	if (atomic_load(&post->parked))
		wake(post);
	return true;
}

bool post_unask(struct post *post)
{
	int asked = POST_ASKED;

	return atomic_compare_exchange_strong(&post->state, &asked, POST_IDLE);
}

const struct post_task *post_task(const struct post *post)
{
	return &post->task;
}

const struct post_found *post_found(const struct post *post)
{
	return &post->found;
}

static uint32_t their_name(struct post *post, struct strtab *strings,
			   uint32_t id)
{
	const char *text;
	size_t len;

	while (post->their_names.n <= id)
		if (!vec_push(&post->their_names, STRTAB_NONE))
			return STRTAB_NONE;
	if (post->their_names.at[id] == STRTAB_NONE) {
		text = strtab_get(post->names, id, &len);
		post->their_names.at[id] = strtab_id(strings, text, len);
	}
	return post->their_names.at[id];
}

static uint32_t their_frame(struct post *post, struct stacks *stacks,
			    struct strtab *strings, uint32_t id)
{
	struct frame frame = stacks_frame_at(post->stacks, id);

	frame.function = their_name(post, strings, frame.function);
	frame.file = their_name(post, strings, frame.file);
	if (frame.function == STRTAB_NONE || frame.file == STRTAB_NONE)
		return STACKS_NONE;
	return stacks_frame(stacks, &frame);
}

/* Parents have smaller numbers: what is not known of them is asked for first. */
uint32_t post_stack(struct post *post, struct stacks *stacks,
		    struct strtab *strings)
{
	uint32_t wanted = post->found.stack, at = wanted;
	struct VEC(uint32_t) todo = { 0 };
	uint32_t *theirs;

	if (wanted == STACKS_NONE)
		return STACKS_NONE;
	while (post->their_stacks.n <= wanted)
		if (!vec_push(&post->their_stacks, STACKS_NONE))
			return STACKS_NONE;
	theirs = post->their_stacks.at;
	theirs[STACKS_EMPTY] = STACKS_EMPTY;
	while (theirs[at] == STACKS_NONE && vec_push(&todo, at))
		at = stacks_at(post->stacks, at).parent;
	while (todo.n && theirs[at] != STACKS_NONE) {
		uint32_t parent = theirs[at];

		at = todo.at[--todo.n];
		theirs[at] = stacks_push(
			stacks, parent,
			their_frame(post, stacks, strings,
				    stacks_at(post->stacks, at).frame));
	}
	vec_free(&todo);
	return theirs[wanted];
}

void post_distrust(struct post *post)
{
	post->seen.n = 0;
	if (codecache_learnt(post->codes))
		codecache_forget(post->codes);
}

void post_take(struct post *post)
{
	atomic_store(&post->state, POST_IDLE);
}
