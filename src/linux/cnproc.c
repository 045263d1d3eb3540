/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The proc connector's socket.
 *
 * Opening it is a series of doors, each of which the kernel may shut in its own
 * way, and some without a word:
 *
 *  1. our namespaces   in a PID or user namespace of our own LISTEN is accepted
 *                      and forgotten; worse, once anybody outside listens,
 *                      events arrive here too, with numbers from outside
 *  2. socket, bind     EPERM without CAP_NET_ADMIN before Linux 6.6
 *  3. LISTEN           ECONNREFUSED in a network namespace of our own
 *  4. the answer       none: somebody's IGNORE too many, before Linux 6.6
 *  5. a child of ours  proves that births and ends do come
 *
 * While it is open:
 *
 *  - The filter is in the socket before it is bound, so nothing unfiltered is
 *    ever queued. Each ptrace seize and detach of our own would come back as an
 *    event, and each thread of the machine makes two.
 *  - ENOBUFS comes before the events that were queued ahead of the overflow,
 *    and from the overflow on all is dropped until the queue has been emptied.
 *    So it is remembered (`lost`), and told (`owed`) once the queue was seen
 *    empty: who takes a snapshot of /proc then misses nothing.
 *  - Only the kernel is believed: its port is 0. Another process that may
 *    send to us has its own.
 */
#include "linux/cnproc.h"

#include <errno.h>
#include <linux/cn_proc.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netlink/socket.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/nsec.h"
#include "base/outcome.h"
#include "linux/clock.h"
#include "linux/cnproc_wire.h"
#include "linux/cnsock.h"

#define BATCH 64
/* An event is 76 bytes; room for what later kernels may add to it. */
#define MESSAGE_MAX 256
/* The kernel's count of drops is looked at after so many messages. */
#define CHECK_EVERY 1024
#define LISTEN_TRIES 16
#define ANSWER_NS (100 * NSEC_PER_MSEC)
#define ANSWER_AGAIN_NS (5 * NSEC_PER_MSEC)
#define CHILD_NS (500 * NSEC_PER_MSEC)
#define CHILD_STACK 4096

struct cnproc {
	struct nl_sock *sock; /* owns the descriptor once it has it */
	int fd;
	bool acked;         /* the kernel counts us among its listeners */
	bool lost;          /* dropped; the queue not seen empty since */
	bool owed;          /* an EVENT_LOST is to be given */
	unsigned unchecked; /* messages since the last look at the drops */
	uint32_t drops;     /* the kernel's count then */
	_Atomic uint64_t received; /* read by other threads */
	_Atomic uint64_t dropped;
	struct mmsghdr messages[BATCH];
	struct iovec pieces[BATCH];
	struct sockaddr_nl senders[BATCH];
	unsigned char bytes[BATCH][MESSAGE_MAX];
	_Atomic pid_t child; /* that tested it; 0: waited for */
	_Alignas(16) char stack[CHILD_STACK]; /* the child's */
};

static void prepare_messages(struct cnproc *cn)
{
	for (size_t i = 0; i < BATCH; i++) {
		cn->pieces[i] = (struct iovec){ cn->bytes[i], MESSAGE_MAX };
		cn->messages[i].msg_hdr = (struct msghdr){
			.msg_name = &cn->senders[i],
			.msg_iov = &cn->pieces[i],
			.msg_iovlen = 1,
		};
	}
}

/* The kernel's own count of what it dropped, or the last known. */
static uint32_t ask_drops(const struct cnproc *cn)
{
	uint32_t info[SK_MEMINFO_VARS] = { 0 };
	socklen_t len = sizeof(info);

	if (getsockopt(cn->fd, SOL_SOCKET, SO_MEMINFO, info, &len) ||
	    len <= SK_MEMINFO_DROPS * sizeof(info[0]))
		return cn->drops;
	return info[SK_MEMINFO_DROPS];
}

/*
 * The queue was seen empty: now is the time to tell of a loss. The count of
 * drops also rises where no ENOBUFS came, so it is asked after each burst.
 */
static void seen_empty(struct cnproc *cn)
{
	uint32_t drops;

	if (!cn->lost && cn->unchecked < CHECK_EVERY)
		return;
	cn->unchecked = 0;
	drops = ask_drops(cn);
	if (drops != cn->drops) {
		/* It is a 32-bit count and may go around. */
		atomic_fetch_add(&cn->dropped, (uint32_t)(drops - cn->drops));
		cn->drops = drops;
		cn->lost = true;
	}
	if (cn->lost)
		cn->owed = true;
	cn->lost = false;
}

/*
 * Up to @max (<= BATCH) messages into cn->messages, without waiting. Returns
 * how many, 0 when there is none; a negative errno when the socket is dead.
 */
static int receive(struct cnproc *cn, unsigned max)
{
	int n;

	for (;;) {
		for (unsigned i = 0; i < max; i++)
			cn->messages[i].msg_hdr.msg_namelen =
				sizeof(cn->senders[i]);
		n = recvmmsg(cn->fd, cn->messages, max, MSG_DONTWAIT, NULL);
		if (n > 0)
			break;
		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0 || errno == EAGAIN)
			return 0;
		if (errno != ENOBUFS)
			return -errno;
		cn->lost = true;
	}
	atomic_fetch_add(&cn->received, (uint64_t)n);
	cn->unchecked += (unsigned)n;
	return n;
}

static bool from_kernel(const struct cnproc *cn, int i)
{
	return cn->messages[i].msg_hdr.msg_namelen == sizeof(cn->senders[i]) &&
	       cn->senders[i].nl_pid == 0;
}

static size_t message_len(const struct cnproc *cn, int i)
{
	return cn->messages[i].msg_len < MESSAGE_MAX ? cn->messages[i].msg_len
						     : MESSAGE_MAX;
}

void cnproc_settle(struct cnproc *cn)
{
	pid_t child = atomic_load(&cn->child);

	/* Of two threads that wait, one is told that there is none any more. */
	while (child && waitpid(child, NULL, __WALL) < 0 && errno == EINTR)
		;
	atomic_store(&cn->child, 0);
}

/* Those of the @got messages received that are news; how many. */
static size_t decode_batch(struct cnproc *cn, int got, struct event *events)
{
	size_t n = 0;

	for (int i = 0; i < got; i++) {
		if (!from_kernel(cn, i))
			continue;
		switch (cnproc_decode(cn->bytes[i], message_len(cn, i),
				      &events[n])) {
		case OUT_OK:
			if (events[n].kind == EVENT_EXIT &&
			    events[n].pid == atomic_load(&cn->child))
				cnproc_settle(cn);
			else
				n++;
			break;
		case OUT_TORN:
			/* What the kernel said there is not known: a loss. */
			cn->lost = true;
			break;
		default:
			break;
		}
	}
	return n;
}

static size_t give_owed(struct cnproc *cn, struct event *event)
{
	if (!cn->owed)
		return 0;
	cn->owed = false;
	*event = (struct event){ .kind = EVENT_LOST, .time_ns = clock_now() };
	return 1;
}

int cnproc_read(struct cnproc *cn, struct event *events, size_t max)
{
	unsigned want;
	size_t n = 0;
	int got;

	if (max > BATCH)
		max = BATCH;
	if (max > 0)
		n = give_owed(cn, events);
	while (n < max) {
		want = (unsigned)(max - n);
		got = receive(cn, want);
		if (got < 0)
			return got;
		n += decode_batch(cn, got, &events[n]);
		if ((unsigned)got < want) {
			seen_empty(cn);
			if (n < max)
				n += give_owed(cn, &events[n]);
			break;
		}
	}
	return (int)n;
}

/* Wait until something can be read; false when @deadline_ns has passed. */
static bool wait_readable(const struct cnproc *cn, uint64_t deadline_ns)
{
	struct pollfd fd = { .fd = cn->fd, .events = POLLIN };
	uint64_t left = nsec_since(deadline_ns, clock_now());
	struct timespec wait = { .tv_sec = (time_t)(left / NSEC_PER_SEC),
				 .tv_nsec = (long)(left % NSEC_PER_SEC) };

	if (left == 0)
		return false;
	/* A signal is as good as news: the caller looks and comes back. */
	return ppoll(&fd, 1, &wait, NULL) != 0;
}

/*
 * Wait for the answer to @cookie. Events meanwhile are thrown away: whoever
 * opens us takes a snapshot of /proc afterwards.
 *
 * Returns 0 with the answer in *@ret; OUT_NOT_YET when none came in time.
 */
static int wait_answer(struct cnproc *cn, uint32_t cookie, uint64_t timeout_ns,
		       uint32_t *ret)
{
	uint64_t deadline = clock_now() + timeout_ns;
	int got;

	do {
		got = receive(cn, BATCH);
		if (got < 0)
			return got;
		for (int i = 0; i < got; i++)
			if (from_kernel(cn, i) &&
			    cnproc_is_ack(cn->bytes[i], message_len(cn, i),
					  cookie, ret))
				return 0;
	} while (got == BATCH || wait_readable(cn, deadline));
	return OUT_NOT_YET;
}

/*
 * Before Linux 6.6 each LISTEN adds one to the kernel's count of listeners and
 * each IGNORE, whoever sends it, takes one away; below one, nothing is told,
 * not even the answer. So ask again until the count is above that.
 */
static int listen_events(struct cnproc *cn, struct error *err)
{
	uint32_t cookie = (uint32_t)clock_now() ^ (uint32_t)getpid() << 12;
	uint32_t answer = 0;
	int r = OUT_NOT_YET;

	for (int i = 0; i < LISTEN_TRIES && r == OUT_NOT_YET; i++) {
		r = cnsock_request(cn->sock, PROC_CN_MCAST_LISTEN, cookie);
		if (r == -ECONNREFUSED)
			return error_set(err, r,
					 "proc connector: this is a network "
					 "namespace of its own, and the kernel "
					 "answers only in the initial one; run "
					 "outside of it, or with --net=host");
		if (r)
			return error_set(err, r,
					 "proc connector: LISTEN was refused: "
					 "it may need root or CAP_NET_ADMIN");
		r = wait_answer(cn, cookie, i ? ANSWER_AGAIN_NS : ANSWER_NS,
				&answer);
	}
	if (r == OUT_NOT_YET)
		return error_set(err, -ETIMEDOUT,
				 "proc connector: the kernel does not answer: "
				 "it was built without CONFIG_PROC_EVENTS, or "
				 "this is a container that hides it");
	if (r)
		return error_set(err, r, "proc connector: read the socket");
	if (answer)
		return error_set(err, -(int)(answer & 0xfff),
				 "proc connector: the kernel refused to tell: "
				 "before Linux 6.6 it needs root or "
				 "CAP_NET_ADMIN");
	cn->acked = true;
	return 0;
}

static int end_at_once(void *ctx)
{
	(void)ctx;
	_exit(0);
}

/*
 * A child that ends at once. Our memory is not copied for it, and it has no exit
 * signal, so nobody's SIGCHLD handler runs. Such a child is seen only by those who
 * wait with __WALL or __WCLONE.
 */
static int make_child(struct cnproc *cn)
{
	int pid = clone(end_at_once, cn->stack + sizeof(cn->stack), CLONE_VM,
			NULL);

	if (pid < 0)
		return -errno;
	atomic_store(&cn->child, pid);
	return 0;
}

/*
 * Wait for the birth of the child: 0, OUT_NOT_YET, a negative errno. The kernel told
 * of it before clone() returned. Its end is not waited for: on a full machine that
 * would take some milliseconds.
 */
static int wait_child(struct cnproc *cn)
{
	uint64_t deadline = clock_now() + CHILD_NS;
	struct event events[BATCH];
	pid_t pid = atomic_load(&cn->child);
	int got;

	do {
		got = receive(cn, BATCH);
		if (got < 0)
			return got;
		for (size_t i = 0, n = decode_batch(cn, got, events); i < n;
		     i++)
			if (events[i].pid == pid &&
			    events[i].kind == EVENT_FORK)
				return 0;
	} while (got == BATCH || wait_readable(cn, deadline));
	return OUT_NOT_YET;
}

static int test_child(struct cnproc *cn, struct error *err)
{
	int r = make_child(cn);

	if (r)
		return error_set(err, r,
				 "proc connector: make a child to test it");
	r = wait_child(cn);
	if (r == OUT_NOT_YET)
		return error_set(err, -ETIMEDOUT,
				 "proc connector: it answers, but did not tell "
				 "of a child that was made to test it");
	if (r)
		return error_set(err, r, "proc connector: read the socket");
	return 0;
}

int cnproc_open(struct cnproc **ret, size_t buffer, struct error *err)
{
	struct cnproc *cn = NULL;
	int r;

	cn = calloc(1, sizeof(*cn));
	if (!cn) {
		r = error_set(err, -ENOMEM, "proc connector: no memory");
		goto out;
	}
	prepare_messages(cn);
	r = cnsock_open(&cn->sock, err);
	if (r)
		goto out;
	cn->fd = nl_socket_get_fd(cn->sock);
	r = listen_events(cn, err);
	if (!r)
		r = test_child(cn, err);
	if (r)
		goto out;
	/* Not before: one that is too small would lose the answer, too. */
	if (buffer)
		cnsock_buffer(cn->fd, buffer);
	*ret = cn;
	cn = NULL;
out:
	cnproc_close(cn);
	return r;
}

int cnproc_fd(const struct cnproc *cn)
{
	return cn->fd;
}

uint64_t cnproc_received(const struct cnproc *cn)
{
	return atomic_load(&cn->received);
}

uint64_t cnproc_dropped(const struct cnproc *cn)
{
	return atomic_load(&cn->dropped);
}

void cnproc_close(struct cnproc *cn)
{
	if (!cn)
		return;
	/* Unasked for, it would silence another listener before Linux 6.6. */
	if (cn->acked)
		(void)cnsock_request(cn->sock, PROC_CN_MCAST_IGNORE, 0);
	nl_socket_free(cn->sock); /* closes the socket; NULL is fine */
	cnproc_settle(cn);
	free(cn);
}

static int source_fd(const void *self, size_t i)
{
	return i == 0 ? cnproc_fd(self) : -1;
}

static int source_read(void *self, struct event *events, size_t max)
{
	return cnproc_read(self, events, max);
}

static uint64_t source_received(const void *self)
{
	return cnproc_received(self);
}

static uint64_t source_dropped(const void *self)
{
	return cnproc_dropped(self);
}

static void source_settle(void *self)
{
	cnproc_settle(self);
}

static void source_close(void *self)
{
	cnproc_close(self);
}

struct evsource cnproc_source(struct cnproc *cn)
{
	return (struct evsource){ .self = cn,
				  .fd = source_fd,
				  .read = source_read,
				  .received = source_received,
				  .dropped = source_dropped,
				  .settle = source_settle,
				  .close = source_close };
}
