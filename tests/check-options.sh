#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# check-options.sh DIR: every long option that the program takes is in its help, its
# man page and the completions of each shell; those of bash are tried.

set -eu
LC_ALL=C
export LC_ALL
dir=${1:-${srcdir:-.}}
bad=0

# { "name", required_argument, NULL, 'x' } in the tables of src/cli.
options=$(sed -n 's/^.*{ "\([a-z-]*\)", \(no\|required\)_argument,.*/\1/p' \
	"$dir"/src/cli/options*.[ch] | sort -u)
test "$(echo "$options" | wc -l)" -gt 20 || {
	echo "the tables of options were not found in $dir/src/cli"
	exit 1
}

has() {
	grep -q -e "$2" "$dir/$1" || {
		echo "--$3 is not in $1"
		bad=1
	}
}

for option in $options; do
	quoted=$(echo "$option" | sed 's/-/[\\\\]*-/g')
	has doc/forkflame.1 "[\\\\]*-[\\\\]*-$quoted" "$option"
	has src/cli/options.c "\-\-$option" "$option"
	has completions/forkflame.bash "\-\-$option" "$option"
	has completions/_forkflame "\-\-$option" "$option"
	has completions/forkflame.fish "\-l $option" "$option"
done

# What bash completes for the words given: one a line.
complete() {
	bash -c '
		source "$0"
		COMP_WORDS=(forkflame "$@")
		COMP_CWORD=$#
		_forkflame
		printf "%s\n" "${COMPREPLY[@]}"' \
		"$dir/completions/forkflame.bash" "$@"
}

want() {
	wanted=$1
	shift
	complete "$@" | grep -qx -e "$wanted" || {
		echo "bash: '$*' is not completed to '$wanted'"
		bad=1
	}
}

want_not() {
	unwanted=$1
	shift
	if complete "$@" | grep -qx -e "$unwanted"; then
		echo "bash: '$*' is completed to '$unwanted'"
		bad=1
	fi
}

if command -v bash >/dev/null; then
	want report rep
	want --merge-workers report --mer
	want --rotate record --ro
	want_not --rotate report --ro
	want speedscope report x.ff -f sp
	want ff record -f f
	want_not ff report -f f
	want cpu record --mode c
	want cpu record --mode = c
	want --json dump --j
	want --no-children dump --no
	want tree t
	want --json tree -p 1 --j
	want --exclude-command record --exclude-c
	want_not --exclude-command report --exclude-c
	want "$$" record -p "$$"
else
	echo "note: no bash here; its completion was not tried"
fi
if command -v zsh >/dev/null; then
	zsh -n "$dir/completions/_forkflame" || bad=1
fi
if command -v fish >/dev/null; then
	fish --no-execute "$dir/completions/forkflame.fish" || bad=1
fi
exit $bad
