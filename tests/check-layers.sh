#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# check-layers.sh [DIR]         check the sources of DIR
# check-layers.sh --self-test   check that each rule catches what it forbids
#
# The layers, by which a reader knows where to look and a test needs no process:
#
#	cli -> ui -> include/forkflame/forkflame.h
#	session -> { linux | tree | python | profile } -> base
#	report  -> profile -> base
#
# 1. An include names its file from src/: "base/str.h", and the file exists.
# 2. No stage (linux, tree, python, profile) includes another; base only base.
# 3. cli and ui see the public header, each other in that order, and libc; nothing
#    of what the library is made of.
# 4. base, tree, python and profile are pure: of libc they include only headers
#    that cannot enter the kernel, they print nothing, and look at no errno
#    (base/error.c records it; the names of its values are free). profile may
#    also use the libraries that compress in memory, and regular expressions.
# 5. Only linux and session include headers of the kernel.
# 6. _GNU_SOURCE comes from config.h, which the build includes in every file.
# 7. The licence's SPDX line is the first or second of each source file.
# 8. Makefile.am names every source file and every test, so that all are built,
#    run and distributed.
#
# Functions over 60 lines and files over 500 are listed, and fail nothing.

set -eu
LC_ALL=C
export LC_ALL

sources() {
	find "$1/src" "$1/include" "$1/tests" "$1/demo" "$1/m4" -type f \
		'(' -name '*.[ch]' -o -name '*.py' -o -name '*.sh' \
		-o -name '*.html' -o -name '*.css' -o -name '*.js' \
		-o -name '*.sym' -o -name 'forkflame*.m4' -o -name check-format \
		')' ! -name page_data.c ! -path '*/corpus/*' ! -path '*/data/*' \
		2>/dev/null | sort
	for file in configure.ac Makefile.am bootstrap .ci/run .clang-format \
		doc/forkflame.1 libforkflame.pc.in; do
		if [ -e "$1/$file" ]; then
			echo "$1/$file"
		fi
	done
}

# Reads the names of files on stdin. Exits 1 if a rule is broken.
check() {
	awk -v root="$1" '
	function broken(text) {
		printf "%s:%d: %s\n", name, line_no, text
		bad = 1
	}

	function exists(file,	line, r) {
		r = (getline line < file)
		close(file)
		return r >= 0
	}

	# The layer of a file, by its name from the root.
	function layer_of(file,	part) {
		if (file !~ /^src\//)
			return ""
		split(file, part, "/")
		if (part[2] ~ /^session[a-z_]*\.[ch]$/)
			return "session"
		if (part[2] ~ /^report[a-z_]*\.[ch]$/)
			return "report"
		return part[2]
	}

	function check_quoted(file,	to, is_public) {
		if (file == "config.h")
			return
		is_public = (file == "forkflame/forkflame.h")
		if (is_public && (layer ~ /^(session|report|cli|ui)$/))
			return
		if (is_public) {
			broken(layer " may not include the public header")
			return
		}
		if (!exists(root "/src/" file)) {
			broken("\"" file "\" is no file of src/: write \"layer/file.h\"")
			return
		}
		to = layer_of("src/" file)
		if (!((layer, to) in allowed))
			broken(layer " may not include " to " (" file ")")
	}

	function check_system(file) {
		if (layer in pure && !(file in harmless) &&
		    !(layer == "profile" && file ~ /^(zlib|zstd|regex)\.h$/))
			broken(layer " is pure and may not include <" file ">")
		if (layer ~ /^(cli|ui|report)$/ && file ~ kernel)
			broken("only linux and session may include <" file ">")
	}

	# The line without its comments and the text of its strings.
	function code_of(line,	out, at) {
		gsub(/\\./, "", line)
		gsub(/"[^"]*"/, "\"\"", line)
		out = ""
		while (line != "") {
			if (in_comment) {
				at = index(line, "*/")
				if (!at)
					return out
				line = substr(line, at + 2)
				in_comment = 0
			} else {
				at = index(line, "/*")
				if (!at)
					return out line
				out = out substr(line, 1, at - 1)
				line = substr(line, at + 2)
				in_comment = 1
			}
		}
		return out
	}

	function check_line(line,	file, code) {
		if (line ~ /^[ \t]*#[ \t]*define[ \t]+_GNU_SOURCE/)
			broken("config.h defines _GNU_SOURCE, and is included already")
		code = code_of(line)
		if (line ~ /^[ \t]*#[ \t]*include[ \t]*["<]/ && layer != "") {
			file = line
			sub(/^[^"<]*["<]/, "", file)
			sub(/[">].*$/, "", file)
			if (line ~ /^[^"<]*"/)
				check_quoted(file)
			else
				check_system(file)
			return
		}
		if (!(layer in pure))
			return
		if (code ~ prints)
			broken(layer " is pure and may not print, or open a file")
		if (code ~ /(^|[^a-z_A-Z0-9<])errno([^a-z_A-Z0-9.]|$)/ &&
		    name !~ /^src\/base\/error\./)
			broken(layer " is pure and may not look at errno")
	}

	function measure(line) {
		if (name !~ /\.c$/)
			return
		if (line ~ /^\{/)
			body = line_no
		else if (line ~ /^\}/ && body) {
			if (line_no - body - 1 > 60)
				printf "note: %s:%d: a function of %d lines\n",
					name, body, line_no - body - 1
			body = 0
		}
	}

	BEGIN {
		n = split("base tree python profile", list, " ")
		for (i = 1; i <= n; i++)
			pure[list[i]] = 1
		n = split("base tree python profile linux", list, " ")
		for (i = 1; i <= n; i++) {
			allowed[list[i], list[i]] = 1
			allowed[list[i], "base"] = 1
			allowed["session", list[i]] = 1
		}
		allowed["session", "session"] = 1
		allowed["report", "report"] = 1
		allowed["report", "profile"] = allowed["report", "base"] = 1
		allowed["cli", "cli"] = allowed["cli", "ui"] = 1
		allowed["ui", "ui"] = 1
		n = split("assert ctype errno inttypes limits stdalign stdarg " \
			"stdbool stddef stdint stdio stdlib string sys/types",
			list, " ")
		for (i = 1; i <= n; i++)
			harmless[list[i] ".h"] = 1
		kernel = "^(linux/|asm/|asm-generic/|netlink/|sys/ptrace|sys/uio" \
			"|sys/syscall|sys/pidfd|libelf|gelf|elf\\.h|sched\\.h)"
		prints = "(^|[^a-z_A-Z0-9])(v?f?printf|v?dprintf|f?puts|f?putc" \
			"|putchar|perror|fopen|fwrite|fread|getenv|system" \
			"|popen|remove|rename|tmpfile)[ \t]*\\("
	}

	{
		file = $0
		name = substr(file, length(root) + 2)
		layer = layer_of(name)
		line_no = in_comment = body = spdx = 0
		while ((getline line < file) > 0) {
			line_no++
			if (line_no <= 2 &&
			    index(line, "SPDX-License-Identifier: Apache-2.0"))
				spdx = 1
			if (name ~ /\.[ch]$/) {
				check_line(line)
				measure(line)
			}
		}
		close(file)
		if (line_no > 500 && name ~ /^(src|tests)\/.*\.[ch]$/ &&
		    name !~ /_table\.h$/)
			printf "note: %s: %d lines\n", name, line_no
		line_no = 1
		if (!spdx)
			broken("no SPDX line as first or second")
		files++
	}

	END {
		printf "%d files looked at\n", files
		exit bad
	}'
}

# Files that Makefile.am forgets. A program of the tests goes by its name without .c.
check_listed() {
	if [ ! -e "$1/Makefile.am" ]; then
		return 0
	fi
	forgotten=0
	for file in $(cd "$1" && find src include tests/unit tests/fuzz tests/live \
		-type f '(' -name '*.[ch]' -o -name 'live_*.py' ')' \
		! -name page_data.c ! -path '*/programs/*' 2>/dev/null | sort); do
		case $file in
		tests/*/test_*.c | tests/*/make_*.c | tests/*/fuzz_*.c)
			word=${file%.c}
			;;
		*)
			word=$file
			;;
		esac
		if ! tr -s ' \t' '\n\n' <"$1/Makefile.am" | grep -Fqx "$word"; then
			echo "$file:1: not in Makefile.am"
			forgotten=1
		fi
	done
	return "$forgotten"
}

check_all() {
	wrong=0
	sources "$1" | check "$1" || wrong=1
	check_listed "$1" || wrong=1
	return "$wrong"
}

# --- the self test: a sound tree passes, and each fault in it is found

spdx='/* SPDX-License-Identifier: Apache-2.0 */'

plant() {
	mkdir -p "$tree/$(dirname "$1")"
	printf '%s\n' "$2" >"$tree/$1"
}

sound_tree() {
	rm -rf "$tree"
	plant include/forkflame/forkflame.h "$spdx"
	plant src/base/a.h "$spdx
#include <stdint.h>"
	plant src/base/error.c "$spdx
#include <errno.h>
int a(void) { return errno; }"
	plant src/tree/b.h "$spdx
#include \"base/a.h\"
/* Touches no errno; printf(3) is not called. */
const char *b = \"printf(errno)\";"
	plant src/linux/c.c "$spdx
#include <sys/ptrace.h>
#include \"base/a.h\""
	plant src/session.c "$spdx
#include <linux/cn_proc.h>
#include \"tree/b.h\"
#include \"forkflame/forkflame.h\""
	plant src/ui/d.h "$spdx
#include <unistd.h>
#include \"forkflame/forkflame.h\""
	plant src/cli/e.c "$spdx
#include \"ui/d.h\""
	plant Makefile.am "# $spdx
	include/forkflame/forkflame.h src/base/a.h src/base/error.c \\
	src/tree/b.h src/linux/c.c src/session.c src/ui/d.h src/cli/e.c"
}

# expect TEXT FILE LINES: LINES, as FILE of a sound tree, make TEXT the complaint.
expect() {
	sound_tree
	plant "$2" "$3"
	if check_all "$tree" >"$tree/said"; then
		echo "FAIL: nothing said about: $1"
		failed=1
	elif ! grep -q "^$2:.*$1" "$tree/said"; then
		echo "FAIL: wanted: $1; got:"
		cat "$tree/said"
		failed=1
	else
		echo "ok: $1"
	fi
}

self_test() {
	tree=$(mktemp -d)
	trap 'rm -rf "$tree"' EXIT
	failed=0

	sound_tree
	if check_all "$tree"; then
		echo "ok: a sound tree passes"
	else
		echo "FAIL: a sound tree does not pass"
		failed=1
	fi

	expect 'tree may not include linux' src/tree/x.c "$spdx
#include \"linux/c.c\""
	expect 'linux may not include tree' src/linux/x.c "$spdx
#include \"tree/b.h\""
	expect 'base may not include tree' src/base/x.c "$spdx
#include \"tree/b.h\""
	expect 'tree may not include session' src/tree/x.c "$spdx
#include \"session.c\""
	expect 'profile may not include the public header' src/profile/x.c "$spdx
#include \"forkflame/forkflame.h\""
	expect 'cli may not include base' src/cli/x.c "$spdx
#include \"base/a.h\""
	expect 'ui may not include cli' src/ui/x.c "$spdx
#include \"cli/e.c\""
	expect 'session may not include cli' src/session_x.c "$spdx
#include \"cli/e.c\""
	expect 'report may not include tree' src/report.c "$spdx
#include \"tree/b.h\""
	expect 'pure and may not include <zlib.h>' src/python/x.c "$spdx
#include <zlib.h>"
	expect 'is no file of src/' src/tree/x.c "$spdx
#include \"b.h\""
	expect 'pure and may not include <unistd.h>' src/python/x.c "$spdx
 # include <unistd.h>"
	expect 'only linux and session may include <sys/ptrace.h>' src/cli/x.c \
		"$spdx
#include <sys/ptrace.h>"
	expect 'may not print' src/base/x.c "$spdx
/* why */ void a(void) { fprintf(stderr, \"a\"); }"
	expect 'may not look at errno' src/profile/x.c "$spdx
#include <errno.h>
int a(void) { return -errno; }"
	expect '_GNU_SOURCE' src/linux/x.c "$spdx
#define _GNU_SOURCE"
	expect 'not in Makefile.am' src/tree/x.c "$spdx"
	expect 'no SPDX line' tests/unit/x.c '#include <stdint.h>'

	return "$failed"
}

if [ "${1-}" = --self-test ]; then
	self_test
	exit
fi
dir=${1-${FORKFLAME_SRCDIR-$(dirname "$0")/..}}
check_all "$dir"
