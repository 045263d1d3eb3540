/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that no Python made. Loaded by programs of the tests, with ctypes. */
#include <pthread.h>
#include <unistd.h>

int PyGILState_Ensure(void);
void *PyEval_SaveThread(void);

static void *registered(void *unused)
{
	PyGILState_Ensure();
	PyEval_SaveThread();
	pause();
	return unused;
}

/* A thread that the interpreter knows, and that runs no Python. */
int empty_thread(void)
{
	pthread_t thread;

	return pthread_create(&thread, 0, registered, 0);
}
