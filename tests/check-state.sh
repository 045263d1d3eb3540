#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# check-state.sh [BUILDDIR]: the objects of src/ hold no variable of file scope.
#
# State is a struct that someone passes. The one exception is the flag that the
# signal handler sets, in linux/loop.c. Constants that hold addresses lie in
# .data.rel.ro, which is read-only once the program runs: the names of the
# sections tell them from variables, the letters of nm do not.

set -eu

if [ "${FORKFLAME_INSTRUMENTED-no}" = yes ]; then
	echo "SKIP: machine cannot: this build's own instruments are variables"
	exit 77
fi

dir=${1-${FORKFLAME_BUILDDIR-.}}
objects=$(find "$dir/src" -name '*.o' | sort)
if [ -z "$objects" ]; then
	echo "FAIL: no objects in $dir/src"
	exit 1
fi

bad=0
count=0
for object in $objects; do
	count=$((count + 1))
	case $object in
	*/linux/loop.o | */linux/.libs/loop.o)
		continue
		;;
	esac
	# Fields, parted by |: name, value, class, type, size, line, section.
	# shellcheck disable=SC2086 # NM may be a command with options
	variables=$(${NM:-nm} -f sysv "$object" | awk -F '|' '
		NF >= 7 {
			gsub(/ /, "")
			if ($4 ~ /^(SECTION|FILE|FUNC)$/ || $7 ~ /^\.data\.rel\.ro/)
				next
			if ($7 ~ /^\.(t?data|t?bss)/ || $7 ~ /COM/)
				print "\t" $1 " in " $7
		}')
	if [ -n "$variables" ]; then
		echo "$object has variables of its own:"
		echo "$variables"
		bad=1
	fi
done
echo "$count objects looked at"
exit "$bad"
