#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# run.sh PYTHON TEST: run one live test, when no other one runs.
#
# `make -j check` starts tests side by side. The live ones measure time, so each
# waits here for a lock of the build tree. The test itself does not inherit the
# lock: a process that it leaves behind must not hold up the others.

limit=${FORKFLAME_TEST_LIMIT:-600}

mkdir -p tests/live
exec 9>tests/live/lock
if command -v flock >/dev/null 2>&1; then
	flock 9
fi

# Killed by the limit, a test has failed: 124 is neither 0 nor 77.
timeout -k 10 "$limit" "$@" 9>&-
status=$?
if [ "$status" -ge 124 ]; then
	echo "run.sh: ended with status $status (124: not done in $limit s)"
fi
exit "$status"
