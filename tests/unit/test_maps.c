/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/outcome.h"
#include "linux/procfs.h"
#include "fakeproc.h"

static int parse_maps(const char *text, struct proc_maps *ret)
{
	return procfs_parse_maps(text, strlen(text), ret);
}

static const char *path_of(const struct proc_maps *maps, size_t i)
{
	return maps->paths.at + maps->maps.at[i].path;
}

static void tells_the_mappings_of_files_alone(void **state)
{
	struct proc_maps maps = { 0 };

	(void)state;
	assert_int_equal(
		parse_maps("55d0c8a00000-55d0c8a02000 r-xp 00001000 fe:10 "
			   "1234      /usr/bin/cat\n"
			   "55d0c8b00000-55d0c8b21000 rw-p 00000000 00:00 "
			   "0         [heap]\n"
			   "7f0000000000-7f0000001000 rw-s 00000000 00:0e "
			   "9         anon_inode:[perf_event]\n"
			   "7f0000002000-7f0000003000 rw-p 00000000 00:00 0 \n"
			   "7f0000004000-7f0000005000 rw-p 00000000 103:00 "
			   "99        /a b/c\n",
			   &maps),
		0);
	assert_int_equal(maps.maps.n, 2);
	assert_int_equal(maps.maps.at[0].start, 0x55d0c8a00000);
	assert_int_equal(maps.maps.at[0].end, 0x55d0c8a02000);
	assert_int_equal(maps.maps.at[0].offset, 0x1000);
	assert_true(maps.maps.at[0].device == (0xfeull << 32 | 0x10));
	assert_int_equal(maps.maps.at[0].inode, 1234);
	assert_true(maps.maps.at[0].exec && !maps.maps.at[0].write);
	assert_string_equal(path_of(&maps, 0), "/usr/bin/cat");
	assert_true(!maps.maps.at[1].exec && maps.maps.at[1].write);
	assert_true(maps.maps.at[1].device == 0x103ull << 32);
	assert_string_equal(path_of(&maps, 1), "/a b/c");
	proc_maps_free(&maps);
}

#define MAP(path) "1000-2000 r-xp 00000000 fe:01 5 " path "\n"

static void cuts_off_that_a_file_was_deleted(void **state)
{
	struct proc_maps maps = { 0 };

	(void)state;
	assert_int_equal(parse_maps(MAP("/lib/a (deleted)") MAP("/lib/a")
					    MAP("/lib/a (deleted) b"),
				    &maps),
			 0);
	assert_true(maps.maps.at[0].deleted);
	assert_string_equal(path_of(&maps, 0), "/lib/a");
	assert_false(maps.maps.at[1].deleted);
	assert_string_equal(path_of(&maps, 1), "/lib/a");
	assert_false(maps.maps.at[2].deleted);
	assert_string_equal(path_of(&maps, 2), "/lib/a (deleted) b");
	proc_maps_free(&maps);
}

static void turns_newlines_back_and_leaves_backslashes(void **state)
{
	struct proc_maps maps = { 0 };

	(void)state;
	assert_int_equal(parse_maps(MAP("/a\\012b\\012\\012") MAP("/a\\134\\b")
					    MAP("/\\01"),
				    &maps),
			 0);
	assert_string_equal(path_of(&maps, 0), "/a\nb\n\n");
	assert_string_equal(path_of(&maps, 1), "/a\\134\\b");
	assert_string_equal(path_of(&maps, 2), "/\\01");
	proc_maps_free(&maps);
}

static void takes_no_line_that_is_not_of_a_maps_file(void **state)
{
	const char *const lines[] = {
		"nonsense\n",
		"2000-1000 r-xp 0 fe:01 5 /a\n",
		"1000-2000 r-x\n",
		"1000-2000 r-xp 0 fe01 5 /a\n",
		"10000000000000000-20000000000000000 r-xp 0 fe:01 5 /a\n",
		"1000-2000 r-xp 0 100000000:01 5 /a\n",
		"1000-2000 r-xp 0 fe:01 x /a\n",
		"\n",
	};
	struct proc_maps maps = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		assert_int_equal(parse_maps(MAP("/a"), &maps), 0);
		assert_int_equal(parse_maps(lines[i], &maps), OUT_TORN);
		assert_int_equal(maps.maps.n, 0);
	}
	proc_maps_free(&maps);
}

static void says_nothing_of_an_empty_maps_file(void **state)
{
	const struct fakeproc *fake = *state;
	struct proc_maps maps = { 0 };

	/* A kernel thread's, or one that has ended. */
	fakeproc_text(fake, "42/maps", "");
	assert_int_equal(procfs_maps(&fake->fs, 42, &maps, NULL), 0);
	assert_int_equal(maps.maps.n, 0);
	proc_maps_free(&maps);
}

/* A mapping of the file at @path of the fake. */
static struct proc_map map_of(const struct fakeproc *fake, const char *path)
{
	struct stat st;

	assert_int_equal(fstatat(fake->fs.root, path, &st, 0), 0);
	return (struct proc_map){
		.start = 0x1000,
		.end = 0x2000,
		.device = (uint64_t)major(st.st_dev) << 32 | minor(st.st_dev),
		.inode = st.st_ino,
	};
}

/* The first byte of what procfs_open_map opens; a negative errno. */
static int opened(const struct fakeproc *fake, const struct proc_map *map,
		  const char *path)
{
	int fd = procfs_open_map(&fake->fs, 42, map, path);
	char c = '\0';

	if (fd < 0)
		return fd;
	assert_int_equal(read(fd, &c, 1), 1);
	close(fd);
	return c;
}

static void opens_the_very_file_of_a_mapping_first(void **state)
{
	const struct fakeproc *fake = *state;
	struct proc_map map;

	fakeproc_text(fake, "42/map_files/1000-2000", "m");
	fakeproc_text(fake, "42/root/lib/a", "r");
	map = map_of(fake, "42/map_files/1000-2000");
	assert_int_equal(opened(fake, &map, "/lib/a"), 'm');
}

static void opens_the_file_in_the_targets_own_root(void **state)
{
	const struct fakeproc *fake = *state;
	struct proc_map map;

	fakeproc_text(fake, "42/root/lib/a", "r");
	map = map_of(fake, "42/root/lib/a");
	assert_int_equal(opened(fake, &map, "/lib/a"), 'r');
}

static void opens_no_other_file_of_that_path(void **state)
{
	const struct fakeproc *fake = *state;
	struct proc_map map;

	fakeproc_text(fake, "42/root/lib/a", "r");
	fakeproc_text(fake, "42/exe", "x");
	map = map_of(fake, "42/root/lib/a");
	map.inode += 100000;
	assert_int_equal(opened(fake, &map, "/lib/a"), -ESTALE);
	map = map_of(fake, "42/root/lib/a");
	map.device++;
	assert_int_equal(opened(fake, &map, "/lib/a"), -ESTALE);
	assert_int_equal(opened(fake, &map, "/lib/b"), -ESTALE);
}

static void opens_a_deleted_program_by_its_exe(void **state)
{
	const struct fakeproc *fake = *state;
	struct proc_map map;

	fakeproc_text(fake, "42/exe", "x");
	map = map_of(fake, "42/exe");
	map.deleted = true;
	assert_int_equal(opened(fake, &map, "/bin/a"), 'x');
	assert_int_equal(opened(fake, &map, "/bin/a"), 'x');
}

static void opens_no_pipe_in_the_place_of_a_file(void **state)
{
	const struct fakeproc *fake = *state;
	struct proc_map map;

	/* Opening it would wait for a writer, for ever. */
	fakeproc_text(fake, "42/root/x", "r");
	assert_int_equal(mkfifoat(fake->fs.root, "42/root/pipe", 0644), 0);
	map = map_of(fake, "42/root/pipe");
	assert_int_equal(opened(fake, &map, "/pipe"), -ESTALE);
}

static void tells_which_file_is_the_executable(void **state)
{
	const struct fakeproc *fake = *state;
	struct proc_maps maps = { 0 };
	struct proc_map map;
	uint64_t device = 0;
	uint64_t inode = 0;

	fakeproc_text(fake, "42/program", "x");
	assert_int_equal(symlinkat("program", fake->fs.root, "42/exe"), 0);
	map = map_of(fake, "42/program");
	assert_int_equal(procfs_exe(&fake->fs, 42, NULL, &device, &inode, NULL),
			 0);
	assert_int_equal(inode, map.inode);
	/* With its mappings, which have it by what stat tells, likewise. */
	assert_true(vec_push(&maps.maps, map));
	device = inode = 0;
	assert_int_equal(
		procfs_exe(&fake->fs, 42, &maps, &device, &inode, NULL), 0);
	assert_int_equal(inode, map.inode);
	assert_int_equal(device, map.device);
	proc_maps_free(&maps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_the_mappings_of_files_alone),
		cmocka_unit_test(cuts_off_that_a_file_was_deleted),
		cmocka_unit_test(turns_newlines_back_and_leaves_backslashes),
		cmocka_unit_test(takes_no_line_that_is_not_of_a_maps_file),
		WITH_FAKE(says_nothing_of_an_empty_maps_file),
		WITH_FAKE(opens_the_very_file_of_a_mapping_first),
		WITH_FAKE(opens_the_file_in_the_targets_own_root),
		WITH_FAKE(opens_no_other_file_of_that_path),
		WITH_FAKE(opens_a_deleted_program_by_its_exe),
		WITH_FAKE(opens_no_pipe_in_the_place_of_a_file),
		WITH_FAKE(tells_which_file_is_the_executable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
