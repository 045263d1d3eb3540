#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# embed.sh DIR: write page.html, page.css and page.js of DIR as the C file that
# src/profile/page.h declares. Needs od and awk, as every Unix has them.

set -eu
LC_ALL=C
export LC_ALL

# A string literal, one source line a line. Whatever is not plain ASCII becomes
# an octal escape of three digits: those end by themselves, and fit in a char
# whether it is signed or not. A '?' could begin a trigraph.
embed() {
	printf '\nconst char %s[] =\n\t"' "$1"
	od -An -v -tu1 "$2" | awk '
	BEGIN {
		for (i = 32; i < 127; i++)
			text[i] = sprintf("%c", i)
		text[9] = "\\t"
		text[34] = "\\\""
		text[63] = "\\077"
		text[92] = "\\\\"
	}
	{
		for (i = 1; i <= NF; i++) {
			if (begin)
				printf "\"\n\t\""
			begin = 0
			if ($i == 10) {
				printf "\\n"
				begin = 1
			} else if ($i in text)
				printf "%s", text[$i]
			else
				printf "\\%03o", $i
		}
	}'
	printf '";\nconst size_t %s_len = sizeof(%s) - 1;\n' "$1" "$1"
}

dir=$1
for file in page.html page.css page.js; do
	test -r "$dir/$file" || {
		echo "embed.sh: cannot read $dir/$file" >&2
		exit 1
	}
done

cat <<'END'
/* SPDX-License-Identifier: Apache-2.0 */
/* Made by embed.sh from page.html, page.css and page.js: change those. */
#include "profile/page.h"
END
embed page_html "$dir/page.html"
embed page_css "$dir/page.css"
embed page_js "$dir/page.js"
