# SPDX-License-Identifier: Apache-2.0
#
# FORKFLAME_BPF
#
# Whether frames of running threads can be had from the kernel, as $with_bpf wants
# it (auto, yes, no): with libbpf, and a clang that compiles for BPF. Sets with_bpf to
# yes or no, with the reason why not, and
#
#	LIBBPF_CFLAGS LIBBPF_LIBS
#	BPF_CLANG BPF_CFLAGS        the compiler, for the part that runs in the kernel
#	BPF_STRIP                   takes the debugging information from what it made
#
# and the conditional WITH_BPF. BPF_CLANG may be given by the user.

AC_DEFUN([FORKFLAME_BPF], [
AC_ARG_VAR([BPF_CLANG], [clang, to compile for BPF])
forkflame_bpf_why=
AS_IF([test "$with_bpf" != no], [
	forkflame_bpf_wanted=$with_bpf
	AS_CASE([$host_cpu], [x86_64], [],
		[forkflame_bpf_why="made for x86_64 alone"])
	AS_IF([test -z "$forkflame_bpf_why"],
		[PKG_CHECK_MODULES([LIBBPF], [libbpf >= 1.0], [],
			[forkflame_bpf_why="no libbpf >= 1.0"])])
	AS_IF([test -z "$forkflame_bpf_why"], [
		AC_CHECK_PROGS([BPF_CLANG],
			[clang clang-19 clang-18 clang-17 clang-16 clang-15 clang-14])
		AC_CHECK_PROGS([LLVM_STRIP],
			[llvm-strip llvm-strip-19 llvm-strip-18 llvm-strip-17 \
			llvm-strip-16 llvm-strip-15 llvm-strip-14])
		BPF_STRIP=:
		AS_IF([test -n "$LLVM_STRIP"], [BPF_STRIP="$LLVM_STRIP -g"])
		# The kernel's headers may be in the folder of an architecture. No libc.
		BPF_CFLAGS="-target bpf -mcpu=v3 -ffreestanding -O2 -g -D__TARGET_ARCH_x86 \
-Wall -Wextra -Wno-unused-parameter"
		AS_IF([test -d /usr/include/x86_64-linux-gnu],
			[BPF_CFLAGS="$BPF_CFLAGS -idirafter /usr/include/x86_64-linux-gnu"])
		BPF_CFLAGS="$BPF_CFLAGS $LIBBPF_CFLAGS"
		AC_MSG_CHECKING([whether ${BPF_CLANG:-clang} compiles for BPF])
		cat >conftest.bpf.c <<'END'
@%:@include <linux/bpf.h>
@%:@include <stdint.h>
@%:@include <bpf/bpf_helpers.h>
@%:@include <bpf/bpf_tracing.h>
char LICENSE[[]] SEC("license") = "GPL";
SEC("perf_event") int f(void *ctx) { return bpf_get_smp_processor_id(); }
END
		AS_IF([test -n "$BPF_CLANG" && $BPF_CLANG $BPF_CFLAGS -c \
				-o conftest.bpf.o conftest.bpf.c >&AS_MESSAGE_LOG_FD 2>&1],
			[AC_MSG_RESULT([yes])],
			[AC_MSG_RESULT([no])
			forkflame_bpf_why="no clang that compiles for BPF"])
		rm -f conftest.bpf.c conftest.bpf.o])
	with_bpf=yes
	AS_IF([test -n "$forkflame_bpf_why"], [
		AS_IF([test "$forkflame_bpf_wanted" = yes],
			[AC_MSG_ERROR([--with-bpf: $forkflame_bpf_why])])
		LIBBPF_CFLAGS= LIBBPF_LIBS=
		with_bpf="no ($forkflame_bpf_why)"])])
AS_IF([test "$with_bpf" = yes],
	[AC_SUBST([BPF_REQUIRES], [', libbpf'])
	AC_DEFINE([HAVE_BPF], [1],
		[Frames of running threads may come from the kernel.])])
AC_SUBST([BPF_CFLAGS])
AC_SUBST([BPF_STRIP])
AM_CONDITIONAL([WITH_BPF], [test "$with_bpf" = yes])
])
