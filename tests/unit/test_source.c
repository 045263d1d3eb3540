/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/source.h"

/* Files in a folder of their own, which is the present one meanwhile. */

static int setup(void **state)
{
	char *folder = strdup("/tmp/test-source-XXXXXX");

	*state = folder;
	return folder && mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
	static const char *const names[] = { "a.py", "link.py", "secret",
					     "script", "pipe.py" };
	char *folder = *state;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		(void)unlink(names[i]);
	if (chdir("/") || rmdir(folder))
		return -1;
	free(folder);
	return 0;
}

static void write_file(const char *name, const char *text)
{
	FILE *file = fopen(name, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void check_read(const char *name, const char *text)
{
	char *bytes = NULL;
	size_t len = 0;

	assert_int_equal(source_read(NULL, name, &bytes, &len), 0);
	assert_int_equal(len, strlen(text));
	assert_memory_equal(bytes, text, len);
	free(bytes);
}

static int read_code(const char *name)
{
	char *bytes = NULL;
	size_t len = 0;
	int r = source_read(NULL, name, &bytes, &len);

	free(bytes);
	return r;
}

static void reads_a_module_and_a_script(void **state)
{
	(void)state;
	write_file("a.py", "pass\n");
	check_read("a.py", "pass\n");
	write_file("script", "#!/usr/bin/env python3\npass\n");
	check_read("script", "#!/usr/bin/env python3\npass\n");
}

/* Root may read what whoever named the file may not, and must not show it. */
static void shows_root_nothing_but_python(void **state)
{
	int refused = geteuid() == 0 ? -EACCES : 0;

	(void)state;
	write_file("secret", "root:x:python\n");
	assert_int_equal(read_code("secret"), refused);
	assert_int_equal(symlink("secret", "link.py"), 0);
	assert_int_equal(read_code("link.py"), refused);
	write_file("script", "#!/bin/sh\npython3\n");
	assert_int_equal(read_code("script"), refused);
}

static void reads_files_only(void **state)
{
	(void)state;
	assert_int_equal(mkfifo("pipe.py", 0600), 0);
	assert_int_equal(read_code("pipe.py"), -EINVAL);
	assert_int_equal(read_code("."), -EINVAL);
	assert_int_equal(read_code("none.py"), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(reads_a_module_and_a_script,
						setup, teardown),
		cmocka_unit_test_setup_teardown(shows_root_nothing_but_python,
						setup, teardown),
		cmocka_unit_test_setup_teardown(reads_files_only, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
