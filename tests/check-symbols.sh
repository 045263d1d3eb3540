#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# check-symbols.sh: the shared library exports what src/libforkflame.sym lists,
# all of it and nothing else.

set -eu
LC_ALL=C
export LC_ALL

src=${FORKFLAME_SRCDIR-$(dirname "$0")/..}
lib=${FORKFLAME_BUILDDIR-.}/.libs/libforkflame.so
if [ ! -e "$lib" ]; then
	echo "SKIP: machine cannot: no shared library was built"
	exit 77
fi
if [ "${FORKFLAME_INSTRUMENTED-no}" = yes ]; then
	echo "SKIP: machine cannot: the instruments of this build are exported"
	exit 77
fi

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

sed -n 's/^[[:space:]]*\(forkflame_[a-z_]*\);$/\1/p' \
	"$src/src/libforkflame.sym" | sort >"$tmp/listed"
# The node of the versions is itself a symbol, of type A.
# shellcheck disable=SC2086 # NM may be a command with options
${NM:-nm} -D --defined-only "$lib" |
	awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort >"$tmp/exported"

if diff "$tmp/listed" "$tmp/exported"; then
	wc -l <"$tmp/exported"
	exit 0
fi
echo "FAIL: < is listed but not exported, > is exported but not listed"
exit 1
