/* SPDX-License-Identifier: Apache-2.0 */
/*
 * two_pythons.c [CODE_1] CODE_2: two libpythons, both initialized; the first runs
 * CODE_1, in a thread of its own, or nothing; the second runs CODE_2. FIRST, SECOND,
 * HOME_1 and HOME_2 are defined by who builds it.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

static void *first;

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

static void *run_first(void *code)
{
	int (*ensure)(void);
	int (*run)(const char *);

	*(void **)&ensure = dlsym(first, "PyGILState_Ensure");
	*(void **)&run = dlsym(first, "PyRun_SimpleString");
	ensure();
	run(code);
	return NULL;
}

int main(int argc, char **argv)
{
	void *(*save)(void);
	int (*run)(const char *);
	pthread_t thread;
	void *second;

	first = begin(FIRST, HOME_1);
	*(void **)&save = dlsym(first, "PyEval_SaveThread");
	save();
	second = begin(SECOND, HOME_2);
	if (argc > 2)
		pthread_create(&thread, NULL, run_first, argv[1]);
	*(void **)&run = dlsym(second, "PyRun_SimpleString");
	return run(argv[argc - 1]);
}
