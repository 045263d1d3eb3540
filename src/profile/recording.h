/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROFILE_RECORDING_H
#define PROFILE_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sample.h"

/*
 * A recording (run.ff): what happened in one run, appended as it happened.
 * forkflame-recording(5) describes the bytes. Both directions are pure: bytes in
 * memory to records, records to bytes.
 *
 * A file is a header and blocks. A block stands for itself as to damage: its
 * length and checksum come first, and one that is cut or damaged ends what is
 * read. Definitions (strings, frames, stacks, processes, images, threads) come
 * before what refers to them, each kind numbered from 0 in the order of the file.
 */

enum record_kind {
	RECORD_RUN = 1, /* the first of each file */
	RECORD_STRING,  /* definitions ... */
	RECORD_FRAME,
	RECORD_STACK,
	RECORD_PROCESS,
	RECORD_IMAGE,
	RECORD_THREAD,
	RECORD_IMAGE_PYTHON, /* events ... */
	RECORD_THREAD_NAME,
	RECORD_SLICE,
	RECORD_STAND,
	RECORD_THREAD_END,
	RECORD_PROCESS_END,
	RECORD_NOTE,
	RECORD_SUMMARY, /* the last of a file that was ended in order */
	RECORD_TIME,    /* everything before this moment has been recorded */
	RECORD_IMAGE_TITLE, /* an event */
};

#define RECORD_NONE UINT32_MAX

/* Numbers of strings, stacks, processes and so on are those of the file. Times
 * are in nanoseconds since the start of the run. */

struct record_run {
	uint64_t unix_ns;     /* the start, since 1970 */
	uint64_t interval_ns; /* between two samples of a thread */
	uint64_t start_ns;    /* of this file, after a rotation; else 0 */
	uint32_t cpus;        /* of the machine */
	uint32_t host;        /* strings from here on */
	uint32_t version;     /* of forkflame */
	uint32_t title;       /* what was run */
	uint32_t events;      /* where births came from */
	uint32_t oncpu;       /* how running threads were found */
};

struct record_process {
	uint32_t parent; /* process; RECORD_NONE for a root */
	int32_t pid;
	int32_t ns_pid; /* in its own PID namespace; 0: the same */
	uint64_t born_ns;
	uint64_t pid_ns; /* inode of the PID namespace; 0: not known */
	uint32_t uid;
	uint32_t cgroup; /* string: its path, "" not known */
	bool before;     /* was there before the run */
};

struct record_image {
	uint32_t process;
	uint64_t at_ns;   /* birth or exec */
	uint32_t command; /* strings: arguments joined by blanks */
	uint32_t python;  /* version, "" when none was found (yet) */
};

struct record_thread {
	uint32_t process;
	uint32_t image;
	int32_t tid;
	uint64_t born_ns; /* or taken in */
};

struct record_image_python { /* what the image turned out to be */
	uint32_t image;
	uint32_t python;
};

struct record_image_title { /* what the image calls itself since */
	uint32_t image;
	uint32_t title;
};

struct record_thread_name {
	uint32_t thread;
	uint32_t name; /* string */
};

/* The thread has stood on this stack since then, and its slice is not final. */
struct record_stand {
	uint32_t thread;
	uint64_t start_ns;
	struct seen seen;
};

struct record_thread_end {
	uint32_t thread;
	uint64_t at_ns;
};

struct record_process_end {
	uint32_t process;
	uint64_t at_ns;
	uint8_t verdict; /* enum verdict */
	bool left;       /* false: it lived on when the run ended */
	bool has_status;
	int32_t status; /* as of waitpid(2) */
};

enum note_kind {
	NOTE_LOST = 1, /* events were lost; value: how many, where known */
	NOTE_RATE,     /* value: the new interval in nanoseconds */
	NOTE_GAP,      /* the profiler did not run for value nanoseconds */
	NOTE_LATE,     /* value processes were found late */
};

struct record_note {
	uint8_t kind;
	uint64_t at_ns;
	uint64_t value;
};

struct record_bytes { /* of a string or of the summary, a JSON object */
	const char *at;
	size_t len;
};

/* What the reader hands out. Pointers are valid during the call. */
struct record {
	enum record_kind kind;
	union {
		struct record_run run;
		struct record_bytes bytes; /* STRING, SUMMARY */
		struct {
			uint32_t function, file; /* strings */
			int32_t line;
		} frame;
		struct {
			uint32_t parent, frame; /* parent 0: none, see below */
		} stack; /* numbered from 1: stack 0 is the empty one, undefined */
		struct record_process process;
		struct record_image image;
		struct record_thread thread;
		struct record_image_python image_python;
		struct record_image_title image_title;
		struct record_thread_name thread_name;
		struct slice slice;
		struct record_stand stand;
		struct record_thread_end thread_end;
		struct record_process_end process_end;
		struct record_note note;
		uint64_t time_ns; /* TIME */
	};
};

/* How a file ended, for those who read it. */
enum recording_end {
	RECORDING_WHOLE,   /* in order: with a summary */
	RECORDING_RUNNING, /* after a whole block, without a summary */
	RECORDING_CUT,     /* in the middle of a block */
	RECORDING_DAMAGED, /* a block's checksum or contents are wrong */
};

/* Takes a record. Anything but 0 ends the reading and is returned. */
typedef int (*record_fn)(void *ctx, const struct record *record);

struct recording_reader;

/*
 * @bytes are borrowed for life. References of records to what was not defined
 * before are damage; nothing out of range is handed out: processes, images,
 * threads, strings, frames and stacks that a record names exist.
 *
 * Returns 0; -ENOMEM; -EINVAL for bytes that are no recording; -ENOTSUP for a
 * version or a compression that this build does not know.
 */
int recording_open(struct recording_reader **ret, const char *bytes,
		   size_t len);
void recording_close(struct recording_reader *reader);

/*
 * Hand all records to @fn, from the beginning: may be called again. A bit of
 * @kinds (1 << kind) is set for each kind that is wanted; the others are checked
 * and not handed out. Records of unknown kinds are skipped.
 *
 * @ret_end   how it ended (NULL: not wanted)
 * @ret_good  bytes up to the end of the last whole block (NULL: not wanted)
 *
 * Returns 0, -ENOMEM, or what @fn returned.
 */
int recording_read(struct recording_reader *reader, uint32_t kinds,
		   record_fn fn, void *ctx, enum recording_end *ret_end,
		   size_t *ret_good);

#endif
