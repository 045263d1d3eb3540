/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/outcome.h"
#include "linux/elfsym.h"
#include "session_internal.h"

/*
 * From the mappings of a process to its interpreter. A file is read once in a
 * run, whoever maps it: what is in it is kept by device and inode.
 */

/* A process maps some hundred files at most; those worth a look are few. */
#define CANDIDATES_MAX 16

struct candidate {
	struct mapped_file file;
	const struct proc_map *map;
	unsigned rank;
};

enum {
	SYM_RUNTIME,
	SYM_VERSION,
	SYM_INTERP_HEAD,
	SYM_INTERP_HEAD_FUNCTION,
	SYM_TSTATE_CURRENT,
	SYM_PYPY,
	SYM_PYPY_NEW,
	SYM_COUNT
};

static void on_needed(void *ctx, const char *name)
{
	struct elf_facts *facts = ctx;

	if (!strncmp(name, "libpython", 9))
		facts->needs_libpython = true;
	if (!strncmp(name, "libpypy", 7))
		facts->is_pypy = true;
}

static int read_facts(int fd, struct elf_facts *ret)
{
	struct elf_symbol symbols[SYM_COUNT] = {
		[SYM_RUNTIME] = { .name = "_PyRuntime" },
		[SYM_VERSION] = { .name = "Py_Version" },
		[SYM_INTERP_HEAD] = { .name = "interp_head" },
		[SYM_INTERP_HEAD_FUNCTION] = { .name = "PyInterpreterState_Head" },
		[SYM_TSTATE_CURRENT] = { .name = "_PyThreadState_Current" },
		[SYM_PYPY] = { .name = "pypy_main_startup" },
		[SYM_PYPY_NEW] = { .name = "PyPyUnicode_AsUTF8" },
	};
	struct elf_summary summary;
	int r;

	*ret = (struct elf_facts){ 0 };
	r = elfsym_read(fd, symbols, SYM_COUNT, ".PyRuntime",
			&ret->runtime_section, &summary, on_needed, ret);
	if (r < 0)
		return r;
	ret->is_elf64 = summary.is_elf && !summary.foreign;
	ret->other_machine = summary.is_elf && summary.foreign;
	ret->load_vaddr = summary.load_vaddr;
	ret->runtime = symbols[SYM_RUNTIME].value;
	ret->version = symbols[SYM_VERSION].value;
	ret->interp_head = symbols[SYM_INTERP_HEAD].value;
	ret->interp_head_function = symbols[SYM_INTERP_HEAD_FUNCTION].value;
	ret->tstate_current = symbols[SYM_TSTATE_CURRENT].value;
	ret->is_pypy |= symbols[SYM_PYPY].value || symbols[SYM_PYPY_NEW].value;
	memcpy(ret->soname, summary.soname, sizeof(ret->soname));
	return 0;
}

static const struct elf_entry *find_entry(const struct forkflame *ff,
					  uint64_t device, uint64_t inode)
{
	uint64_t i;

	if (!map_get(&ff->elf_by_file, map_mix(device, inode), &i) ||
	    ff->elves.at[i].device != device || ff->elves.at[i].inode != inode)
		return NULL;
	return &ff->elves.at[i];
}

static uint32_t base_name(struct forkflame *ff, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	return strtab_id(ff->strings, name, strlen(name));
}

bool session_first_look(struct forkflame *ff, pid_t pid, uint32_t *ret_name)
{
	const struct elf_entry *entry;
	char path[32];
	struct stat st;
	uint64_t i;

	(void)snprintf(path, sizeof(path), "%d/exe", pid);
	if (fstatat(ff->fs.root, path, &st, 0) < 0 ||
	    !map_get(&ff->elf_by_stat, map_mix(st.st_dev, st.st_ino), &i))
		return false;
	entry = &ff->elves.at[i];
	if (entry->stat_device != st.st_dev || entry->stat_inode != st.st_ino ||
	    entry->facts.runtime || entry->facts.runtime_section ||
	    entry->facts.tstate_current || entry->facts.needs_libpython ||
	    entry->facts.is_pypy)
		return false;
	*ret_name = entry->name;
	return true;
}

/* Remember what was read; without memory it is read again. */
static void add_entry(struct forkflame *ff, const struct elf_entry *entry)
{
	uint64_t i = ff->elves.n;

	if (entry->name == STRTAB_NONE || !vec_push(&ff->elves, *entry))
		return;
	(void)map_put(&ff->elf_by_file, map_mix(entry->device, entry->inode),
		      i);
	(void)map_put(&ff->elf_by_stat,
		      map_mix(entry->stat_device, entry->stat_inode), i);
}

/* The facts of the file behind a mapping, from the cache or the file. */
static int facts_of(struct forkflame *ff, pid_t pid, const struct candidate *c,
		    struct elf_facts *ret)
{
	const struct elf_entry *known =
		find_entry(ff, c->map->device, c->map->inode);
	struct elf_entry entry = { .device = c->map->device,
				   .inode = c->map->inode };
	struct stat st;
	int fd, r;

	if (known) {
		*ret = known->facts;
		return 0;
	}
	fd = procfs_open_map(&ff->fs, pid, c->map, c->file.path);
	if (fd < 0)
		return fd;
	/* On some file systems stat has another device than maps. */
	if (fstat(fd, &st) == 0) {
		entry.stat_device = st.st_dev;
		entry.stat_inode = st.st_ino;
	}
	r = read_facts(fd, &entry.facts);
	(void)close(fd);
	if (r < 0)
		return r;
	*ret = entry.facts;
	entry.name = base_name(ff, c->file.path);
	add_entry(ff, &entry);
	return 0;
}

static bool same_file(const struct proc_map *a, const struct proc_map *b)
{
	return a->device == b->device && a->inode == b->inode;
}

/* Add a file to the candidates, the likeliest first; the least falls out. */
static size_t add_candidate(struct candidate *list, size_t n,
			    const struct candidate *c)
{
	size_t at;

	for (size_t i = 0; i < n; i++)
		if (same_file(list[i].map, c->map))
			return n;
	if (n == CANDIDATES_MAX && list[n - 1].rank >= c->rank)
		return n;
	if (n < CANDIDATES_MAX)
		n++;
	for (at = n - 1; at > 0 && list[at - 1].rank < c->rank; at--)
		list[at] = list[at - 1];
	list[at] = *c;
	return n;
}

static size_t find_candidates(struct forkflame *ff, pid_t pid,
			      const struct proc_maps *maps,
			      struct candidate *list)
{
	uint64_t device = 0, inode = 0;
	size_t n = 0;

	(void)procfs_exe(&ff->fs, pid, &device, &inode, NULL);
	for (size_t i = 0; i < maps->maps.n; i++) {
		const struct proc_map *map = &maps->maps.at[i];
		struct candidate c = { .map = map };

		c.file = (struct mapped_file){
			.start = map->start,
			.end = map->end,
			.offset = map->offset,
			.is_exe = inode && map->device == device &&
				  map->inode == inode,
			.path = maps->paths.at + map->path,
		};
		c.rank = probe_rank(&c.file);
		if (c.rank)
			n = add_candidate(list, n, &c);
	}
	return n;
}

/* Of two answers for two files of one process, the one that says more. */
static int more_telling(int a, int b)
{
	static const int order[] = { OUT_OK,     OUT_UNKNOWN, OUT_NOT_YET,
				     OUT_DENIED, OUT_GONE,    OUT_TORN };

	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++)
		if (a == order[i] || b == order[i])
			return order[i];
	return a;
}

int session_locate(struct forkflame *ff, struct process *p, struct runtime *ret)
{
	struct candidate list[CANDIDATES_MAX];
	struct proc_maps maps = { 0 };
	int verdict = OUT_NOT_PYTHON;
	bool wants_library = false;
	size_t n;
	int r;

	r = procfs_maps(&ff->fs, p->pid, &maps, NULL);
	if (r != 0)
		goto out;
	/* No mappings at all: a zombie, or a process without a user side. */
	r = OUT_GONE;
	if (!maps.maps.n)
		goto out;
	n = find_candidates(ff, p->pid, &maps, list);
	ff->remote->pid = p->pid;
	for (size_t i = 0; i < n && verdict != OUT_OK; i++) {
		struct elf_facts facts;
		struct runtime rt;

		r = facts_of(ff, p->pid, &list[i], &facts);
		if (r == -ENOENT || r == -ESRCH)
			r = OUT_GONE;
		else if (r < 0)
			r = r == -EACCES || r == -EPERM ? OUT_DENIED : r;
		else
			r = probe_locate(&facts, &list[i].file, &ff->mem, &rt);
		if (r < 0)
			goto out;
		wants_library |= facts.needs_libpython;
		if (r == OUT_OK || (r == OUT_UNKNOWN && verdict != r))
			*ret = rt;
		verdict = more_telling(verdict, r);
	}
	/* The loader has yet to map the library that the program asks for. */
	r = verdict == OUT_NOT_PYTHON && wants_library ? OUT_NOT_YET : verdict;
out:
	proc_maps_free(&maps);
	return r;
}
