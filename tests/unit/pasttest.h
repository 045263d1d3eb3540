/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_PASTTEST_H
#define TESTS_PASTTEST_H

#include <stddef.h>
#include <stdint.h>

#include "base/sample.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "profile/history.h"
#include "profile/recorder.h"
#include "profile/stacks.h"

/*
 * Histories for tests, made the way that real ones are: told to a recorder, and
 * read back from its bytes. What cannot be made aborts.
 */

#define PAST_MS 1000000ull
#define PAST_UNIX_NS 1700000000000000000ull /* 2023-11-14 22:13:20 UTC */

/* A recording that is being told. A zeroed one is empty. */
struct maker {
	struct strtab *strings;
	struct stacks *stacks;
	struct recorder *rec;
	struct VEC(char) bytes;
};

/* A history, and the bytes that it was read from. A zeroed one is empty. */
struct past {
	struct history *h;
	struct VEC(char *) bytes;
};

/* --- tell a recording */

/* Begin: a run on @host that started at @unix_ns; 10 ms between samples, title
 * `python3 app.py`, 4 CPUs. */
void maker_begin(struct maker *m, const char *host, uint64_t unix_ns);
void maker_free(struct maker *m);

/* Times are in milliseconds from here on: what is told is round. */

uint32_t maker_string(struct maker *m, const char *text);

/* A process, by default without a parent in a namespace that is not known. */
uint32_t maker_process(struct maker *m, uint32_t parent, int32_t pid,
		       uint64_t born_ms);
uint32_t maker_image(struct maker *m, uint32_t process, uint64_t at_ms,
		     const char *command, const char *python);
/* @name may be NULL: none is told. */
uint32_t maker_thread(struct maker *m, uint32_t process, uint32_t image,
		      int32_t tid, uint64_t born_ms, const char *name);
/* @status as of waitpid(2); < 0: it lived on. */
void maker_process_end(struct maker *m, uint32_t process, uint64_t at_ms,
		       int verdict, int status);

/* The stack of @parent (STACKS_EMPTY: of none) called the frame. */
uint32_t maker_push(struct maker *m, uint32_t parent, const char *file,
		    const char *function, int32_t line);
/* `FILE:FUNCTION:LINE;FILE:FUNCTION:LINE`, the root first; "": the empty one. */
uint32_t maker_stack(struct maker *m, const char *text);

/* On a CPU all the time, with the lock; a sample each 10 ms. */
void maker_busy(struct maker *m, uint32_t thread, uint64_t from_ms,
		uint64_t wall_ms, uint32_t stack);
/* Idle, without the lock, or waiting for it with WAIT_GIL. */
void maker_idle(struct maker *m, uint32_t thread, uint64_t from_ms,
		uint64_t wall_ms, uint32_t stack, enum wait_kind wait);
void maker_slice(struct maker *m, const struct slice *slice);

/* Write what was told as blocks. */
void maker_flush(struct maker *m, uint64_t now_ms);

/* --- read it */

/* Take in a copy of the bytes. Returns as history_add. */
int past_add(struct past *p, const char *bytes, size_t len);

/* Take in what @m was told, which is freed. Must succeed. */
void past_take(struct past *p, struct maker *m);
void past_free(struct past *p);

/* Numbers of the history by a text; they must exist. */
uint32_t past_string(const struct past *p, const char *text);

/*
 * A small history of 2 s (times in ms). Numbers are those of processes, images
 * and threads, in the recording as in the history.
 *
 *  process pid  parent life        end            image: command
 *  0       100  -      0-2000      exit 0         0: APP
 *  1       101  0      100-900     exit 1         1: APP
 *  2       102  0      100-1500    signal 9       2: APP
 *  3       103  0      200-2000    lives on       3: APP
 *  4       104  0      300-1200    exit 0         4: APP, 5: SH at 500, no Python
 *  5       101  3      1000-1800   exit 0         6: EVIL, again = 1
 *
 * All with the uid 1000; 2 has ns_pid 7 in namespace 4026532000; 3 has the cgroup
 * "/system.slice/app.service". Python is 3.11.2; of image 6 3.12.1, told later.
 *
 *  thread process image tid name          life       wall  cpu  samples gil
 *  0      0       0     100 MainThread    0-2000     2000  100  200     100
 *  1      0       0     110 PAST_FEEDER   100-2000   1900  100  190     100
 *  2      1       1     101 MainThread    100-900     800  400   80     400
 *  3      2       2     102 MainThread    100-1500   1400  900  140    1000
 *  4      3       3     103 MainThread    200-2000   1800 1300  160    1300
 *  5      4       4     104 MainThread    300-500     200  200   20     200
 *  6      5       6     101 (none)        1000-1800   800  400   80       0
 *  all                                               8900 3400  870    3100
 *
 *  slices: thread from-wall (cpu) state       stack, the root first
 *  0   0-100 busy              app.py:<module>:40
 *  0   100-1900 WAIT_PROCESS   app.py:<module>:41 app.py:main:12 pool.py:wait:90
 *  1   100-1000 WAIT_POLL      threading.py:run:5 pool.py:feed:20
 *  1   1100-100 busy           threading.py:run:5 PAST_FILE:PAST_FUNCTION:7
 *  1   1200-800 WAIT_GIL       threading.py:run:5 pool.py:feed:21
 *  2   100-400 busy            app.py:<module>:41 app.py:main:12 app.py:work:30
 *  2   500-200 WAIT_GIL        app.py:<module>:41 app.py:main:12 app.py:work:30
 *  2   700-200 WAIT_PIPE       app.py:<module>:41 app.py:main:12 pool.py:get:50
 *  3   100-1000 (900) busy     app.py:<module>:41 app.py:main:12 app.py:work:31
 *  3   1100-400 WAIT_LOCK      app.py:<module>:41 app.py:main:12 pool.py:get:50
 *  4   200-500 WAIT_SOCKET     app.py:<module>:41 app.py:main:12 pool.py:get:51
 *  4   900-600 busy, of which 200 have no place: until 1300 it stood
 *                              app.py:<module>:41 app.py:main:12 app.py:work:30
 *  4   1300-700 busy           app.py:<module>:41 app.py:main:12 app.py:work:31
 *  5   300-200 busy            app.py:<module>:41 app.py:main:12 os.py:exec:600
 *  6   1000-400 (400) on a CPU, gil unknown    evil.py:PAST_NAIVE:1
 *  6   1400-200 stopped, gil unknown           evil.py:PAST_NAIVE:1
 *  6   1600-200 WAIT_TIME                      (the empty one)
 *
 *  own weights     wall   cpu  samples  gil
 *  app.py:<module>  100   100    10     100
 *  app.py:work     2900  2600   270    2700
 *  pool.py:wait    1900     0   190       0
 *  pool.py:feed    1800     0   180       0
 *  pool.py:get     1100     0   110       0
 *  PAST_FUNCTION    100   100    10     100
 *  os.py:exec       200   200    20     200
 *  PAST_NAIVE       600   400    60       0
 *  (none)           200     0    20       0
 *
 * On a CPU 3300 of the wall time, stopped 200, idle 5400; waiting for the lock
 * 1000. One note: NOTE_LOST of 3 at 1250. 17 slices.
 */
#define PAST_APP "python3 app.py"
#define PAST_SH "/bin/sh -c x"
#define PAST_EVIL "python3 evil.py a;b <b>&\"'\\ \x01\x1b[31m\xff"
#define PAST_FEEDER "feeder;<x>:\x1b\xff"
#define PAST_FILE "dir;x/a:<b>.py"
#define PAST_FUNCTION "we;ird <b>&\"\\\x01\n\xff:fn"
#define PAST_NAIVE "na\xc3\xafve\xe2\x80\xae"
#define PAST_SUMMARY                                                 \
	"{\"version\":\"0.1.0\",\"duration_ns\":2000000000,"         \
	"\"processes\":{\"seen\":6,\"sampled\":5,\"not-python\":1}," \
	"\"threads\":7}"

/* Tell it: the recording is complete. */
void maker_small(struct maker *m, const char *host, uint64_t unix_ns);

/* Told on "host" at PAST_UNIX_NS, and read. */
void past_small(struct past *p);

/*
 * Another: a process with the pid 1 that executes PAST_APP anew at 1000. Its
 * threads 5 (0-1000) and 6 (1000-2000) are both called `Thread-7`, and each has
 * one busy slice of 1000; that of the second begins at 1500 only. It breaks off
 * at 3000.
 */
void past_reborn(struct past *p);

/* For cmocka: *state is a struct past with the small history. */
int past_setup(void **state);
int past_teardown(void **state);

#endif
