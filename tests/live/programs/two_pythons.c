/* SPDX-License-Identifier: Apache-2.0 */
/*
 * two_pythons.c CODE: two libpythons, both initialized; the first does nothing, the
 * second runs the code. FIRST, SECOND, HOME_1 and HOME_2 are defined by who builds it.
 */
#include <dlfcn.h>
#include <stdlib.h>

static void *begin(const char *path, const wchar_t *home)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	void (*set_home)(const wchar_t *);
	void (*initialize)(int);
	int *no_site;

	if (!library)
		exit(1);
	*(void **)&set_home = dlsym(library, "Py_SetPythonHome");
	*(void **)&initialize = dlsym(library, "Py_InitializeEx");
	no_site = dlsym(library, "Py_NoSiteFlag");
	*no_site = 1;
	set_home(home);
	initialize(0);
	return library;
}

int main(int argc, char **argv)
{
	void *first = begin(FIRST, HOME_1);
	void *(*save)(void);
	int (*run)(const char *);

	*(void **)&save = dlsym(first, "PyEval_SaveThread");
	save();
	*(void **)&run = dlsym(begin(SECOND, HOME_2), "PyRun_SimpleString");
	return run(argv[argc - 1]);
}
