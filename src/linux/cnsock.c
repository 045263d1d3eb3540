/* SPDX-License-Identifier: Apache-2.0 */
#include "linux/cnsock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "linux/cnproc_wire.h"

#define BUFFER_DEFAULT (8 << 20)

/* Of the initial namespaces, the same on every machine since Linux 3.8. */
#define PID_NS_INIT "pid:[4026531836]"
#define USER_NS_INIT "user:[4026531837]"

static bool in_namespace(const char *path, const char *want)
{
	char name[64];
	ssize_t len = readlink(path, name, sizeof(name) - 1);

	if (len < 0)
		return false;
	name[len] = '\0';
	return strcmp(name, want) == 0;
}

static int check_namespaces(struct error *err)
{
	if (!in_namespace("/proc/self/ns/pid", PID_NS_INIT))
		return error_set(err, -EOPNOTSUPP,
				 "proc connector: this is a PID namespace of "
				 "its own, and the kernel tells only the "
				 "numbers of the initial one; run on the host, "
				 "or with --pid=host");
	if (!in_namespace("/proc/self/ns/user", USER_NS_INIT))
		return error_set(err, -EOPNOTSUPP,
				 "proc connector: this is a user namespace of "
				 "its own, where the kernel ignores listeners; "
				 "run outside of it");
	return 0;
}

/*
 * Let through: answers, execs, births of processes, ends of leaders. A load of
 * BPF turns the bytes of a word around on little-endian machines, so constants
 * are turned as well; two words that were loaded alike compare as they are. A
 * load beyond the end of a message rejects it.
 */
static int attach_filter(int fd)
{
#define LOAD(at) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (at))
#define KEEP BPF_STMT(BPF_MISC | BPF_TAX, 0)
#define IS(value, yes, no) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(value), (yes), (no))
#define SAME(yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, (yes), (no))
	/* clang-format off */
	struct sock_filter code[] = {
		/*  0 */ LOAD(WIRE_CN_IDX),
		/*  1 */ IS(CN_IDX_PROC, 0, 16),
		/*  2 */ LOAD(WIRE_CN_VAL),
		/*  3 */ IS(CN_VAL_PROC, 0, 14),
		/*  4 */ LOAD(WIRE_WHAT),
		/*  5 */ IS(WIRE_WHAT_ACK, 11, 0),
		/*  6 */ IS(WIRE_WHAT_EXEC, 10, 0),
		/*  7 */ IS(WIRE_WHAT_EXIT, 0, 4),
		/*  8 */ LOAD(WIRE_EXIT_PID),
		/*  9 */ KEEP,
		/* 10 */ LOAD(WIRE_EXIT_TGID),
		/* 11 */ SAME(5, 6),
		/* 12 */ IS(WIRE_WHAT_FORK, 0, 5),
		/* 13 */ LOAD(WIRE_FORK_CHILD_PID),
		/* 14 */ KEEP,
		/* 15 */ LOAD(WIRE_FORK_CHILD_TGID),
		/* 16 */ SAME(0, 1),
		/* 17 */ BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
		/* 18 */ BPF_STMT(BPF_RET | BPF_K, 0),
	};
	/* clang-format on */
#undef LOAD
#undef KEEP
#undef IS
#undef SAME
	struct sock_fprog program = {
		.len = sizeof(code) / sizeof(code[0]),
		.filter = code,
	};

	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program,
		       sizeof(program)))
		return -errno;
	return 0;
}

/* As much as may be had: an event takes 832 bytes of it, Linux 6.18. */
void cnsock_buffer(int fd, size_t buffer)
{
	int bytes = BUFFER_DEFAULT;

	if (buffer)
		bytes = buffer < INT32_MAX / 2 ? (int)buffer : INT32_MAX / 2;
	/* FORCE is for CAP_NET_ADMIN; the other stops at net.core.rmem_max. */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)))
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes,
				 sizeof(bytes));
}

/*
 * The socket is made here and given to libnl, because nl_connect makes and
 * binds it in one go: a filter would come after the first events, and it sets
 * the buffer to 32 KiB, which is 78 of them. nl_socket_set_fd (libnl 3.7)
 * changes neither; it insists on SOCK_RAW. The kernel chooses the port: one of
 * libnl's may be taken by another copy of libnl in the process.
 */
int cnsock_open(struct nl_sock **ret, struct error *err)
{
	struct sockaddr_nl local = { .nl_family = AF_NETLINK,
				     .nl_groups = CN_IDX_PROC };
	struct nl_sock *sock = NULL;
	int fd = -1;
	int r;

	r = check_namespaces(err);
	if (r)
		goto out;
	sock = nl_socket_alloc();
	if (!sock) {
		r = error_set(err, -ENOMEM, "proc connector: no memory");
		goto out;
	}
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK,
		    NETLINK_CONNECTOR);
	if (fd < 0) {
		r = error_set(err, -errno,
			      "proc connector: no socket: a kernel without "
			      "CONFIG_PROC_EVENTS, or a sandbox that forbids "
			      "netlink");
		goto out;
	}
	r = attach_filter(fd);
	if (r) {
		(void)error_set(err, r, "proc connector: attach the filter");
		goto out;
	}
	cnsock_buffer(fd, 0);
	if (bind(fd, (const struct sockaddr *)&local, sizeof(local))) {
		r = error_set(err, -errno,
			      "proc connector: bind was refused: before Linux "
			      "6.6 it needs root or CAP_NET_ADMIN");
		goto out;
	}
	if (nl_socket_set_fd(sock, NETLINK_CONNECTOR, fd) < 0) {
		r = error_set(err, -EPROTO,
			      "proc connector: libnl does not take the socket");
		goto out;
	}
	/* Events are no answers: libnl would miss a number before each. */
	nl_socket_disable_seq_check(sock);
	/* The connector never sends the answer that libnl would ask for. */
	nl_socket_disable_auto_ack(sock);
	fd = -1; /* it is the socket's now */
	*ret = sock;
	sock = NULL;
out:
	if (fd >= 0)
		close(fd);
	nl_socket_free(sock);
	return r;
}

int cnsock_request(struct nl_sock *sock, uint32_t op, uint32_t cookie)
{
	/*
	 * Four bytes after the header: what every kernel takes. The longer
	 * form that Linux 6.6 knows would have its own answer filtered out.
	 */
	struct cn_msg header = {
		.id = { .idx = CN_IDX_PROC, .val = CN_VAL_PROC },
		.ack = cookie,
		.len = sizeof(op),
	};
	unsigned char bytes[sizeof(header) + sizeof(op)];

	memcpy(bytes, &header, sizeof(header));
	memcpy(bytes + sizeof(header), &op, sizeof(op));
	/* libnl's own codes do not have ECONNREFUSED. */
	errno = 0;
	if (nl_send_simple(sock, NLMSG_DONE, 0, bytes, sizeof(bytes)) < 0)
		return errno ? -errno : -EIO;
	return 0;
}
