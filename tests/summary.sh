#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# summary.sh BUILDDIR: what the tests of a build tree came to: which ones failed,
# which were skipped and why, and a last line "N passed, N failed, N skipped".
#
# Exits 1 when a test failed, 2 when one was skipped that this machine can run: a
# skip is excused only by a line "SKIP: machine cannot: REASON" in its log, where
# the name of what was skipped may follow SKIP.

set -eu

dir=$1
passed=0
failed=0
skipped=0
unexcused=0

# A failed distcheck leaves a whole tree in forkflame-VERSION: not ours.
files=$(find "$dir" -name 'forkflame-*' -prune -o -name '*.trs' -print | sort)
for file in $files; do
	name=${file#"$dir"/}
	name=${name%.trs}
	for result in $(sed -n 's/^:test-result: *\([A-Z]*\).*/\1/p' "$file"); do
		case $result in
		PASS | XFAIL)
			passed=$((passed + 1))
			;;
		SKIP)
			skipped=$((skipped + 1))
			reason=$(sed -n 's/^SKIP.*: machine cannot: //p' \
				"${file%.trs}.log" | head -n 1)
			if [ -z "$reason" ]; then
				unexcused=$((unexcused + 1))
				reason="UNEXCUSED: $(grep '^SKIP' \
					"${file%.trs}.log" | head -n 1 ||
					:)"
			fi
			echo "skipped: $name: $reason"
			;;
		*)
			failed=$((failed + 1))
			echo "failed: $name (see ${file%.trs}.log)"
			;;
		esac
	done
done

echo "$passed passed, $failed failed, $skipped skipped"
if [ "$failed" -gt 0 ]; then
	exit 1
fi
if [ "$unexcused" -gt 0 ]; then
	exit 2
fi
