/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LINUX_PROCFS_H
#define LINUX_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/str.h"
#include "base/vec.h"

/*
 * /proc, or a recording of it: @root is a directory fd, so that tests bring a
 * directory of their own. What /proc says is read whole and parsed with bounds:
 * command names hold blanks and parentheses, paths hold newlines (as \012).
 *
 * Common returns: 0; OUT_GONE when the process or thread does not exist;
 * OUT_DENIED; a negative errno, with @err told.
 */
struct procfs {
	int root; /* O_PATH or O_DIRECTORY fd; the caller owns it */
	/*
	 * It is the kernel's own: what the kernel has no task of (any more) is
	 * OUT_GONE without a look, which may take very long (linux/task.h).
	 */
	bool live;
};

struct proc_stat {
	pid_t pid;
	pid_t parent;
	char state;     /* R S D T t Z X I ... */
	bool kernel;    /* a thread of the kernel itself */
	uint64_t start; /* clock ticks since boot: with the pid, the identity */
	uint64_t cpu_ticks; /* utime + stime, in clock ticks */
	/*
	 * Minor faults of the children that it has waited for, and of theirs:
	 * each has had some.
	 */
	uint64_t waited_faults;
	/*
	 * Where its code and its stack begin. An exec moves them (where
	 * addresses are random). 0 or 1 when the kernel does not tell the
	 * reader: it needs the right to ptrace.
	 */
	uint64_t code_start, stack_start;
	/*
	 * Of one in state Z: how it ended, as wait(2) gives it. 0 also when the
	 * kernel does not tell the reader.
	 */
	uint32_t status;
};

/* Parse the text of a stat file. Pure. OUT_TORN when it is none. */
int procfs_parse_stat(const char *text, size_t len, struct proc_stat *ret);

int procfs_stat(const struct procfs *fs, pid_t pid, struct proc_stat *ret,
		struct error *err);

/*
 * All processes, in the order of /proc; those that vanish meanwhile are left
 * out, and those that the reader may not see (hidepid=). What @ret held before goes,
 * here and below; the caller frees it with vec_free.
 */
struct proc_stats VEC(struct proc_stat);
int procfs_snapshot(const struct procfs *fs, struct proc_stats *ret,
		    struct error *err);

/*
 * Bring an earlier snapshot up to date: who is no more is taken out, who is new is
 * read and added; the others, about whom nothing is read, stay as they were. Any
 * order before, that of /proc afterwards. A number that has another owner since is
 * not noticed.
 */
int procfs_update(const struct procfs *fs, struct proc_stats *stats,
		  struct error *err);

/* The tids of a process, ascending as /proc gives them. */
struct proc_tids VEC(pid_t);
int procfs_tids(const struct procfs *fs, pid_t pid, struct proc_tids *ret,
		struct error *err);

/* The children of one thread (CONFIG_PROC_CHILDREN; -ENOENT without). */
int procfs_children(const struct procfs *fs, pid_t pid, pid_t tid,
		    struct proc_tids *ret, struct error *err);

/*
 * The command line, its arguments joined by blanks, as bytes; the name of the
 * process in brackets when it has none (a zombie, a kernel thread). Appended to
 * @to; at most 4096 bytes of it.
 */
int procfs_command(const struct procfs *fs, pid_t pid, struct str *to,
		   struct error *err);

/*
 * The same, of one that has arguments, or a title that it has written over them;
 * nothing is appended for one that has none.
 */
int procfs_arguments(const struct procfs *fs, pid_t pid, struct str *to,
		     struct error *err);

/* The mappings of files of a process. `paths` holds the texts. */
struct proc_map {
	uint64_t start, end, offset;
	uint64_t device; /* major << 32 | minor */
	uint64_t inode;
	bool exec, write;
	bool deleted; /* " (deleted)" was cut off */
	size_t path;  /* into maps.paths; unescaped */
};
struct proc_maps {
	struct VEC(struct proc_map) maps;
	struct str paths; /* NUL-terminated texts, one after another */
};
void proc_maps_free(struct proc_maps *maps);

/*
 * Parse the text of a maps file; lines without a file are passed over. Pure.
 * What @ret held goes. Returns 0; OUT_TORN when a line is not one of a maps
 * file, or -ENOMEM: @ret is empty then.
 */
int procfs_parse_maps(const char *text, size_t len, struct proc_maps *ret);
int procfs_maps(const struct procfs *fs, pid_t pid, struct proc_maps *ret,
		struct error *err);

/*
 * Device and inode of /proc/PID/exe, as maps files write them: which mapping is
 * the executable. (On btrfs and on overlays stat tells other devices than maps;
 * where the reader may not open the file, *@ret_device is what stat tells.)
 *
 * @maps  its mappings: if one is of the file that stat tells, there is no more to
 *        be found out. NULL: not known
 */
int procfs_exe(const struct procfs *fs, pid_t pid, const struct proc_maps *maps,
	       uint64_t *ret_device, uint64_t *ret_inode, struct error *err);

/*
 * Open the file behind a mapping for reading: through /proc/PID/map_files (the
 * very file, deleted or of another mount namespace; needs privilege), else
 * /proc/PID/root/PATH if it has the mapping's device and inode, else
 * /proc/PID/exe where it is that. Never the reader's own file of that path, and
 * nothing but a regular file: no other is even opened.
 *
 * @path  the text of @map->path
 *
 * Returns an fd >= 0 (O_CLOEXEC); -ESTALE when there is a file, but another
 * one; another negative errno when there is none, or none that may be opened.
 */
int procfs_open_map(const struct procfs *fs, pid_t pid,
		    const struct proc_map *map, const char *path);

/*
 * The number of a thread in the innermost pid namespace that it is in, which is
 * the one that it knows itself by; *@ret_nested tells whether that is another
 * namespace than the one that @fs is of (NSpid, since Linux 4.1; without it: no).
 */
int procfs_inner_tid(const struct procfs *fs, pid_t pid, pid_t tid,
		     pid_t *ret_inner, bool *ret_nested, struct error *err);

/*
 * Are the addresses of its mappings random with each exec? Where that cannot be
 * told, they are not.
 */
bool procfs_has_random_addresses(const struct procfs *fs, pid_t pid);

/* Who traces it: TracerPid of its status; 0 nobody. And its real uid. */
int procfs_tracer(const struct procfs *fs, pid_t pid, pid_t *ret_tracer,
		  uid_t *ret_uid, struct error *err);

#endif
