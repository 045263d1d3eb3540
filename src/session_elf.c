/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/nsec.h"
#include "base/outcome.h"
#include "linux/elfmem.h"
#include "linux/elfsym.h"
#include "python/search.h"
#include "session_internal.h"
#include "session_tids.h"

/*
 * From the mappings of a process to its interpreter. A file is read once in a
 * run, whoever maps it: what is in it is kept by device and inode.
 */

/* A process maps some hundred files at most; those worth a look are few. */
#define CANDIDATES_MAX 16

/* As many threads of an interpreter are looked at for one that runs something. */
#define LIVE_THREADS 16

struct candidate {
	struct mapped_file file;
	const struct proc_map *map; /* the first of one loading of the file */
	uint64_t last_offset;       /* of that loading */
	bool exec,
		loaded; /* code of it may run; or it was loaded, not just read */
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

/* The file by an fd; or, without one, its image in the memory of the process. */
struct source {
	const struct mem *mem;
	uint64_t start; /* of the image */
	int fd;         /* -1: the image */
};

static int read_facts(const struct source *from, struct elf_facts *ret)
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
	if (from->fd >= 0)
		r = elfsym_read(from->fd, symbols, SYM_COUNT, ".PyRuntime",
				&ret->runtime_section, &summary, on_needed,
				ret);
	else
		r = elfmem_read(from->mem, from->start, symbols, SYM_COUNT,
				&summary, on_needed, ret);
	if (r)
		return r;
	ret->is_elf64 = summary.is_elf && !summary.foreign;
	ret->other_machine = summary.is_elf && summary.foreign;
	ret->load_vaddr = summary.load_vaddr;
	ret->data_vaddr = summary.data_vaddr;
	ret->data_size = summary.data_size;
	ret->runtime = symbols[SYM_RUNTIME].value;
	ret->version = symbols[SYM_VERSION].value;
	ret->interp_head = symbols[SYM_INTERP_HEAD].value;
	ret->interp_head_function = symbols[SYM_INTERP_HEAD_FUNCTION].value;
	ret->tstate_current = symbols[SYM_TSTATE_CURRENT].value;
	ret->is_pypy |= symbols[SYM_PYPY].value || symbols[SYM_PYPY_NEW].value;
	memcpy(ret->soname, summary.soname, sizeof(ret->soname));
	return 0;
}

static void on_bytes(void *ctx, const void *bytes, size_t len)
{
	search_text(ctx, bytes, len);
}

/*
 * Which version its texts are of: asked for where nothing else tells it, of a
 * program or of one that has a runtime.
 */
static int read_tag(const struct source *from, bool is_exe,
		    struct elf_facts *facts)
{
	bool runtime = facts->runtime || facts->runtime_section ||
		       facts->tstate_current;
	struct search_tag tag = { 0 };
	int r;

	if (!facts->is_elf64 || facts->version || facts->soname[0] ||
	    facts->needs_libpython || facts->is_pypy || !(is_exe || runtime))
		return 0;
	if (from->fd >= 0)
		r = elfsym_data(from->fd, on_bytes, &tag);
	else
		r = elfmem_data(from->mem, from->start, SEARCH_OVERLAP,
				on_bytes, &tag);
	if (r || tag.torn || tag.major > UINT8_MAX || tag.minor > UINT8_MAX)
		return r;
	facts->tag_major = (uint8_t)tag.major;
	facts->tag_minor = (uint8_t)tag.minor;
	return 0;
}

static struct file_stamp stamp_of(const struct stat *st)
{
	return (struct file_stamp){
		.device = st->st_dev,
		.inode = st->st_ino,
		.size = (uint64_t)st->st_size,
		.mtime_ns = (uint64_t)st->st_mtim.tv_sec * NSEC_PER_SEC +
			    (uint64_t)st->st_mtim.tv_nsec,
	};
}

static bool same_stamp(const struct file_stamp *a, const struct file_stamp *b)
{
	return a->device == b->device && a->inode == b->inode &&
	       a->size == b->size && a->mtime_ns == b->mtime_ns;
}

/*
 * What is known of the file behind a mapping. The inode of a file that was deleted
 * is soon another's: it must be the file that was read, as far as we may ask.
 */
static const struct elf_entry *find_entry(const struct forkflame *ff, pid_t pid,
					  const struct proc_map *map)
{
	const struct elf_entry *entry;
	struct file_stamp stamp;
	char path[96];
	struct stat st;
	uint64_t i;

	if (!map_get(&ff->elf_by_file, map_mix(map->device, map->inode), &i))
		return NULL;
	entry = &ff->elves.at[i];
	if (entry->device != map->device || entry->inode != map->inode)
		return NULL;
	(void)snprintf(path, sizeof(path), "%d/map_files/%" PRIx64 "-%" PRIx64,
		       pid, map->start, map->end);
	if (fstatat(ff->fs.root, path, &st, 0) < 0)
		return entry;
	stamp = stamp_of(&st);
	return same_stamp(&stamp, &entry->stat) ? entry : NULL;
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
	struct file_stamp stamp;
	char path[32];
	struct stat st;
	uint64_t i;

	(void)snprintf(path, sizeof(path), "%d/exe", pid);
	if (fstatat(ff->fs.root, path, &st, 0) < 0 ||
	    !map_get(&ff->elf_by_stat, map_mix(st.st_dev, st.st_ino), &i))
		return false;
	entry = &ff->elves.at[i];
	stamp = stamp_of(&st);
	if (!same_stamp(&entry->stat, &stamp) || entry->facts.runtime ||
	    entry->facts.runtime_section || entry->facts.tstate_current ||
	    entry->facts.needs_libpython || entry->facts.tag_major ||
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
		      map_mix(entry->stat.device, entry->stat.inode), i);
}

/*
 * The facts of the file behind a mapping, from the cache, or the file; or, where
 * that cannot be opened any more, from its image. Returns 0, an outcome, or why the
 * file could not be opened.
 */
static int facts_of(struct forkflame *ff, pid_t pid, const struct candidate *c,
		    struct elf_facts *ret)
{
	struct elf_entry entry = { .device = c->map->device,
				   .inode = c->map->inode };
	struct source from = { .mem = &ff->mem, .start = c->map->start };
	const struct elf_entry *known;
	struct stat st;
	int r;

	known = find_entry(ff, pid, c->map);
	if (known) {
		*ret = known->facts;
		return 0;
	}
	from.fd = procfs_open_map(&ff->fs, pid, c->map, c->file.path);
	/* The image begins with the file's first byte, or has no header. */
	if (from.fd < 0 && c->map->offset)
		return from.fd;
	/* On some file systems stat has another device than maps. */
	if (from.fd >= 0 && fstat(from.fd, &st) == 0)
		entry.stat = stamp_of(&st);
	r = read_facts(&from, &entry.facts);
	if (r == 0)
		r = read_tag(&from, c->file.is_exe, &entry.facts);
	if (from.fd >= 0)
		(void)close(from.fd);
	if (r != 0)
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

/* The likeliest first; what runs before what is only read; as they are mapped. */
static void sort_candidates(struct candidate *list, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct candidate c = list[i];
		size_t at = i;

		for (; at > 0 && (list[at - 1].rank < c.rank ||
				  (list[at - 1].rank == c.rank &&
				   list[at - 1].exec < c.exec));
		     at--)
			list[at] = list[at - 1];
		list[at] = c;
	}
}

/*
 * A file may be mapped several times: as a program twice (dlmopen), or to be read
 * as data. The mappings of one loading come in the order of the file, so that one
 * which goes back in the file begins another.
 */
static size_t add_mapping(struct candidate *list, size_t n,
			  const struct candidate *c)
{
	size_t least = 0, at;

	for (at = n; at-- > 0;)
		if (same_file(list[at].map, c->map))
			break;
	if (at < n && list[at].last_offset < c->map->offset) {
		list[at].last_offset = c->map->offset;
		list[at].exec |= c->exec;
		list[at].loaded |= c->loaded;
		return n;
	}
	if (n < CANDIDATES_MAX) {
		list[n] = *c;
		return n + 1;
	}
	for (size_t i = 1; i < n; i++)
		if (list[i].rank < list[least].rank)
			least = i;
	if (list[least].rank < c->rank)
		list[least] = *c;
	return n;
}

static size_t find_candidates(struct forkflame *ff, pid_t pid,
			      const struct proc_maps *maps,
			      struct candidate *list)
{
	uint64_t device = 0, inode = 0;
	size_t n = 0, kept = 0;

	(void)procfs_exe(&ff->fs, pid, maps, &device, &inode, NULL);
	for (size_t i = 0; i < maps->maps.n; i++) {
		const struct proc_map *map = &maps->maps.at[i];
		struct candidate c = { .map = map,
				       .last_offset = map->offset,
				       .exec = map->exec,
				       .loaded = map->exec || map->write };

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
			n = add_mapping(list, n, &c);
	}
	for (size_t i = 0; i < n; i++)
		if (list[i].loaded)
			list[kept++] = list[i];
	sort_candidates(list, kept);
	return kept;
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

/* The mappings, through a task that has some. OUT_GONE when there is none. */
static int read_maps(struct forkflame *ff, struct process *p,
		     struct proc_maps *maps)
{
	int r;

	session_read_from(ff, p);
	r = procfs_maps(&ff->fs, ff->remote->pid, maps, NULL);
	if (r == 0 && !maps->maps.n && session_find_reader(ff, p))
		r = procfs_maps(&ff->fs, ff->remote->pid, maps, NULL);
	/* None at all: a zombie, or a process without a user side. */
	return r == 0 && !maps->maps.n ? OUT_GONE : r;
}

/* Does it run anything? Of two interpreters in a process it is this that counts. */
static bool is_live(struct forkflame *ff, const struct runtime *rt)
{
	struct pythread threads[LIVE_THREADS];
	struct rawframe frame;
	uint64_t mark;
	size_t n, frames;
	int r = runtime_threads(&ff->mem, rt, threads, LIVE_THREADS, &n, &mark);

	for (size_t i = 0; (r == 0 || r == OUT_FULL) && i < n; i++) {
		int w = frame_walk(&ff->mem, &rt->layout, threads[i].tstate,
				   &frame, 1, &frames);

		if ((w == 0 || w == OUT_FULL) && frames)
			return true;
	}
	return false;
}

/* What is in the file of a candidate: as probe_locate, or why nobody knows. */
static int look_into(struct forkflame *ff, const struct candidate *c,
		     struct elf_facts *facts, struct runtime *ret)
{
	int r = facts_of(ff, ff->remote->pid, c, facts);

	if (r == -ENOENT || r == -ESRCH || r == -ESTALE)
		return OUT_GONE;
	if (r < 0)
		return r == -EACCES || r == -EPERM ? OUT_DENIED : r;
	return r ? r : probe_locate(facts, &c->file, &ff->mem, ret);
}

int session_locate_second(struct forkflame *ff, struct process *p,
			  const struct runtime *first, struct runtime *ret)
{
	struct candidate list[CANDIDATES_MAX];
	struct proc_maps maps = { 0 };
	size_t n = 0;
	int r;

	r = read_maps(ff, p, &maps);
	if (r == 0) {
		n = find_candidates(ff, ff->remote->pid, &maps, list);
		r = OUT_NOT_PYTHON;
	}
	for (size_t i = 0; i < n && n > 1; i++) {
		struct elf_facts facts = { 0 };
		struct runtime rt = { 0 };

		if (look_into(ff, &list[i], &facts, &rt) != 0 ||
		    (rt.address == first->address &&
		     rt.interp_only == first->interp_only) ||
		    !is_live(ff, &rt))
			continue;
		*ret = rt;
		r = 0;
		break;
	}
	proc_maps_free(&maps);
	return r;
}

int session_locate(struct forkflame *ff, struct process *p, struct runtime *ret,
		   bool *ret_alone)
{
	struct candidate list[CANDIDATES_MAX];
	struct proc_maps maps = { 0 };
	int verdict = OUT_NOT_PYTHON;
	bool wants_library = false, live = false;
	size_t n, looked;
	int r;

	*ret_alone = false;
	r = read_maps(ff, p, &maps);
	if (r != 0)
		goto out;
	n = find_candidates(ff, ff->remote->pid, &maps, list);
	for (looked = 0; looked < n && !live; looked++) {
		struct elf_facts facts = { 0 };
		struct runtime rt = { 0 };

		r = look_into(ff, &list[looked], &facts, &rt);
		if (r < 0)
			goto out;
		wants_library |= facts.needs_libpython;
		live = r == OUT_OK && is_live(ff, &rt);
		/* The first of them, unless another one is at work. */
		if (live || (verdict != OUT_OK && verdict != r &&
			     (r == OUT_OK || r == OUT_UNKNOWN)))
			*ret = rt;
		verdict = more_telling(verdict, r);
	}
	*ret_alone = live && looked == n;
	/* The loader has yet to map the library that the program asks for. */
	r = verdict == OUT_NOT_PYTHON && wants_library ? OUT_NOT_YET : verdict;
out:
	proc_maps_free(&maps);
	return r;
}
