#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# embed.sh DIR: write page.html, page.css and the page's scripts of DIR, one
# after the other, as the C file that src/profile/page.h declares. Needs od and
# awk, as every Unix has them.

set -eu
LC_ALL=C
export LC_ALL

# In the order in which they are to run; page.js, the last, starts it all.
scripts='page_text.js page_data.js page_theme.js page_pick.js page_blocks.js
	page_flame.js page_words.js page_rows.js page_columns.js page_lanes.js
	page_hands.js page_table.js page_pools.js page_summary.js
	page_address.js page.js'

# A string literal, one source line a line. Whatever is not plain ASCII becomes
# an octal escape of three digits: those end by themselves, and fit in a char
# whether it is signed or not. A '?' could begin a trigraph.
embed() {
	printf '\nconst char %s[] =\n\t"' "$1"
	od -An -v -tu1 | awk '
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
for file in page.html page.css $scripts svg.css svg.js; do
	test -r "$dir/$file" || {
		echo "embed.sh: cannot read $dir/$file" >&2
		exit 1
	}
done

cat <<'END'
/* SPDX-License-Identifier: Apache-2.0 */
/* Made by embed.sh from page.html, page.css and page*.js: change those. */
#include "profile/page.h"
#include "profile/svg.h"
END
embed page_html <"$dir/page.html"
embed page_css <"$dir/page.css"
(cd "$dir" && cat $scripts) | embed page_js
embed svg_css <"$dir/svg.css"
embed svg_js <"$dir/svg.js"
