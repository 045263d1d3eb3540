/* SPDX-License-Identifier: Apache-2.0 */
/*
 * embed.c CODE...: a program with an interpreter in it, which is made anew for each
 * of its arguments. With -DLIBRARY="..." it loads a libpython late, by name.
 */
#ifdef LIBRARY
#include <dlfcn.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	void (*initialize)(void);
	int (*run)(const char *);
	void *library;

	usleep(300000);
	library = dlopen(LIBRARY, RTLD_NOW | RTLD_GLOBAL);
	if (!library)
		return 1;
	*(void **)&initialize = dlsym(library, "Py_Initialize");
	*(void **)&run = dlsym(library, "PyRun_SimpleString");
	initialize();
	for (int i = 1; i < argc; i++)
		run(argv[i]);
	return 0;
}
#else
extern int Py_NoSiteFlag;
void Py_Initialize(void);
void Py_Finalize(void);
int PyRun_SimpleString(const char *);

int main(int argc, char **argv)
{
	Py_NoSiteFlag = 1;
	for (int i = 1; i < argc; i++) {
		Py_Initialize();
		PyRun_SimpleString(argv[i]);
		Py_Finalize();
	}
	return 0;
}
#endif
