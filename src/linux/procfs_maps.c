/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/outcome.h"
#include "linux/procfs.h"
#include "linux/procfs_read.h"

/* 65,530 mappings (vm.max_map_count) of the longest paths would be more. */
#define MAPS_MAX (64 << 20)
#define DELETED " (deleted)"

static uint64_t device_of(uint64_t major_number, uint64_t minor_number)
{
	return major_number << 32 | minor_number;
}

void proc_maps_free(struct proc_maps *maps)
{
	vec_free(&maps->maps);
	str_free(&maps->paths);
}

/* "r-xp": false when it is not four letters. */
static bool scan_rights(struct scan *s, struct proc_map *map)
{
	if (s->end - s->at < 4)
		return false;
	map->write = s->at[1] == 'w';
	map->exec = s->at[2] == 'x';
	s->at += 4;
	return true;
}

/* "START-END RIGHTS OFFSET MAJOR:MINOR INODE", and @s stands at the path. */
static bool scan_map(struct scan *s, struct proc_map *map)
{
	uint64_t major_number;
	uint64_t minor_number;

	if (!scan_number(s, 16, &map->start) || !scan_char(s, '-') ||
	    !scan_number(s, 16, &map->end) || !scan_char(s, ' ') ||
	    !scan_rights(s, map) || !scan_char(s, ' ') ||
	    !scan_number(s, 16, &map->offset) || !scan_char(s, ' ') ||
	    !scan_number(s, 16, &major_number) || !scan_char(s, ':') ||
	    !scan_number(s, 16, &minor_number) || !scan_char(s, ' ') ||
	    !scan_number(s, 10, &map->inode) || map->start >= map->end ||
	    major_number > UINT32_MAX || minor_number > UINT32_MAX)
		return false;
	map->device = device_of(major_number, minor_number);
	scan_blanks(s);
	return true;
}

/*
 * The kernel escapes newlines here and nothing else, not even the backslash, so
 * "\012" alone is turned back: "\134" is four characters of the name.
 */
static void add_path(struct str *to, const char *path, size_t len)
{
	size_t done = 0;

	for (size_t i = 0; i + 4 <= len; i++) {
		if (memcmp(path + i, "\\012", 4) != 0)
			continue;
		str_add(to, path + done, i - done);
		str_add(to, "\n", 1);
		done = i + 4;
		i += 3;
	}
	str_add(to, path + done, len - done);
	str_add(to, "", 1);
}

static int add_line(struct scan *s, struct proc_maps *maps)
{
	const size_t deleted = strlen(DELETED);
	struct proc_map map = { 0 };
	size_t len;

	if (!scan_map(s, &map))
		return OUT_TORN;
	/* "[heap]", "anon_inode:[perf_event]": no files to be opened. */
	if (map.inode == 0 || s->at == s->end || *s->at != '/')
		return 0;
	len = (size_t)(s->end - s->at);
	if (memchr(s->at, '\0', len))
		return OUT_TORN;
	if (len > deleted && memcmp(s->end - deleted, DELETED, deleted) == 0) {
		map.deleted = true;
		len -= deleted;
	}
	map.path = maps->paths.len;
	add_path(&maps->paths, s->at, len);
	if (maps->paths.failed || !vec_push(&maps->maps, map))
		return -ENOMEM;
	return 0;
}

int procfs_parse_maps(const char *text, size_t len, struct proc_maps *ret)
{
	const char *newline;
	struct scan s;
	int r = 0;

	ret->maps.n = 0;
	str_clear(&ret->paths);
	while (len > 0 && r == 0) {
		newline = memchr(text, '\n', len);
		if (!newline)
			newline = text + len;
		s = (struct scan){ text, newline };
		r = add_line(&s, ret);
		len -= (size_t)(newline - text);
		text = newline;
		if (len > 0) {
			text++;
			len--;
		}
	}
	if (r)
		proc_maps_free(ret);
	return r;
}

int procfs_maps(const struct procfs *fs, pid_t pid, struct proc_maps *ret,
		struct error *err)
{
	char path[PROCFS_PATH];
	struct str text = { 0 };
	int r;

	if (procfs_gone(fs, pid))
		return OUT_GONE;
	(void)snprintf(path, sizeof(path), "%d/maps", (int)pid);
	r = procfs_read_all(fs, path, &text, MAPS_MAX, err);
	if (r)
		goto out;
	r = procfs_parse_maps(text.at, text.len, ret);
	if (r == OUT_TORN)
		r = error_set(err, -EBADMSG, "understand /proc/%s", path);
	else if (r)
		(void)error_set(err, r, "read /proc/%s", path);
out:
	str_free(&text);
	return r;
}

/*
 * Device and inode of an open file as maps files write them: those of the
 * superblock, or of the layer of an overlay, while stat's device is one of a
 * subvolume (btrfs) or of the overlay. So map a page of it and look.
 *
 * Returns false when it cannot be told.
 */
static bool mapped_identity(int fd, uint64_t *ret_device, uint64_t *ret_inode)
{
	struct procfs own = { .root = AT_FDCWD };
	struct proc_maps maps = { 0 };
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	bool found = false;
	void *page;

	page = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (page == MAP_FAILED)
		return false;
	own.root = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (own.root >= 0 && procfs_maps(&own, getpid(), &maps, NULL) == 0)
		for (size_t i = 0; i < maps.maps.n && !found; i++) {
			const struct proc_map *map = &maps.maps.at[i];

			if ((uintptr_t)page < map->start ||
			    (uintptr_t)page >= map->end)
				continue;
			*ret_device = map->device;
			*ret_inode = map->inode;
			found = true;
		}
	proc_maps_free(&maps);
	if (own.root >= 0)
		close(own.root);
	(void)munmap(page, size);
	return found;
}

/*
 * Open @path for reading if it is a regular file. It is looked at before it is
 * opened, because opening a pipe would wait and opening a device may do things,
 * and a target can put either in the place of a file.
 *
 * Returns an fd or a negative errno.
 */
static int open_regular(int root, const char *path)
{
	char own[PROCFS_PATH];
	struct stat st;
	int place;
	int fd;

	place = openat(root, path, O_PATH | O_CLOEXEC);
	if (place < 0)
		return -errno;
	if (fstat(place, &st)) {
		fd = -errno;
	} else if (!S_ISREG(st.st_mode)) {
		fd = -ESTALE;
	} else {
		(void)snprintf(own, sizeof(own), "/proc/self/fd/%d", place);
		fd = open(own, O_RDONLY | O_CLOEXEC | O_NOCTTY);
		if (fd < 0)
			fd = -errno;
	}
	close(place);
	return fd;
}

static bool has_file(const struct proc_maps *maps, uint64_t device,
		     uint64_t inode)
{
	for (size_t i = 0; maps && i < maps->maps.n; i++)
		if (maps->maps.at[i].device == device &&
		    maps->maps.at[i].inode == inode)
			return true;
	return false;
}

int procfs_exe(const struct procfs *fs, pid_t pid, const struct proc_maps *maps,
	       uint64_t *ret_device, uint64_t *ret_inode, struct error *err)
{
	char path[PROCFS_PATH];
	struct stat st;
	int fd;

	if (procfs_gone(fs, pid))
		return OUT_GONE;
	(void)snprintf(path, sizeof(path), "%d/exe", (int)pid);
	if (fstatat(fs->root, path, &st, 0))
		return procfs_failed(errno, path, err);
	*ret_device = device_of(major(st.st_dev), minor(st.st_dev));
	*ret_inode = st.st_ino;
	if (has_file(maps, *ret_device, *ret_inode))
		return 0;
	fd = open_regular(fs->root, path);
	if (fd >= 0) {
		(void)mapped_identity(fd, ret_device, ret_inode);
		close(fd);
	}
	return 0;
}

static bool is_mapped_file(int fd, const struct proc_map *map)
{
	uint64_t device;
	uint64_t inode;
	struct stat st;

	if (fstat(fd, &st))
		return false;
	if (st.st_ino == map->inode &&
	    device_of(major(st.st_dev), minor(st.st_dev)) == map->device)
		return true;
	return mapped_identity(fd, &device, &inode) && inode == map->inode &&
	       device == map->device;
}

/* Open @path if it is the file of @map: an fd, -ESTALE, a negative errno. */
static int open_if(const struct procfs *fs, const char *path,
		   const struct proc_map *map)
{
	int fd = open_regular(fs->root, path);

	if (fd >= 0 && !is_mapped_file(fd, map)) {
		close(fd);
		fd = -ESTALE;
	}
	return fd;
}

int procfs_open_map(const struct procfs *fs, pid_t pid,
		    const struct proc_map *map, const char *path)
{
	char number[PROCFS_PATH];
	struct str rooted = { 0 };
	int rooted_fd = -ENOENT;
	int fd;

	if (procfs_gone(fs, pid))
		return -ENOENT;
	(void)snprintf(number, sizeof(number), "%d/map_files/%llx-%llx",
		       (int)pid, (unsigned long long)map->start,
		       (unsigned long long)map->end);
	fd = open_if(fs, number, map);
	if (fd >= 0)
		return fd;
	if (!map->deleted) {
		str_printf(&rooted, "%d/root%s", (int)pid, path);
		rooted_fd = rooted.failed ? -ENOMEM
					  : open_if(fs, rooted.at, map);
		str_free(&rooted);
		if (rooted_fd >= 0)
			return rooted_fd;
	}
	(void)snprintf(number, sizeof(number), "%d/exe", (int)pid);
	fd = open_if(fs, number, map);
	/* The path's answer says most, if there was one. */
	if (fd < 0 && rooted_fd != -ENOENT)
		return rooted_fd;
	return fd;
}
