#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# kframes_object.sh FILE: write the compiled kframes.bpf.c as the C file that
# src/linux/kframes_object.h declares. Needs od and awk, as every Unix has them.

set -eu
LC_ALL=C
export LC_ALL

cat <<'END'
/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Made by kframes_object.sh from kframes.bpf.c: change that. */
#include "linux/kframes_object.h"

const unsigned char kframes_object[]
	__attribute__((aligned(8))) = {
END
od -An -v -tu1 "$1" | awk '{
	printf "\t"
	for (i = 1; i <= NF; i++)
		printf "%s,", $i
	printf "\n"
}'
cat <<'END'
};
const size_t kframes_object_len = sizeof(kframes_object);
END
