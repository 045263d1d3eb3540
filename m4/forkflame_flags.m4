# SPDX-License-Identifier: Apache-2.0
#
# FORKFLAME_FLAGS
#
# Collects the flags of the project, each one tried with the compiler first, in
#
#	WARN_CFLAGS                             warnings, -Werror, the analyzer
#	HARD_CPPFLAGS HARD_CFLAGS HARD_LDFLAGS  hardening
#	SAN_CFLAGS SAN_LDFLAGS                  sanitizers and fuzzing
#	COV_CFLAGS COV_LDFLAGS                  coverage
#	LIB_LDFLAGS                             what only the shared library takes
#
# They go into AM_CFLAGS and its like. CFLAGS and LDFLAGS belong to the user, and
# come after ours, so that the user has the last word.

AC_DEFUN([FORKFLAME_FLAGS], [
AC_ARG_ENABLE([werror],
	[AS_HELP_STRING([--enable-werror],
		[make warnings errors; for developers, never for a release])],
	[], [enable_werror=no])
AC_ARG_ENABLE([hardening],
	[AS_HELP_STRING([--disable-hardening],
		[add no hardening flags; for distributions that set their own])],
	[], [enable_hardening=yes])
AC_ARG_ENABLE([analyzer],
	[AS_HELP_STRING([--enable-analyzer], [compile with gcc -fanalyzer (slow)])],
	[], [enable_analyzer=no])
AC_ARG_ENABLE([coverage],
	[AS_HELP_STRING([--enable-coverage],
		[count executed lines, for gcov])],
	[], [enable_coverage=no])
AC_ARG_ENABLE([fuzzing],
	[AS_HELP_STRING([--enable-fuzzing],
		[make the fuzz programs fuzz (clang), not replay their corpus])],
	[], [enable_fuzzing=no])
AC_ARG_WITH([sanitizers],
	[AS_HELP_STRING([--with-sanitizers=LIST],
		[as for -fsanitize=, such as address,undefined; turns hardening off])],
	[], [with_sanitizers=no])
AS_CASE([$with_sanitizers], [yes], [with_sanitizers=address,undefined])

# A compiler that does not know a -Wflag may only warn of it: hence -Werror.
AX_APPEND_COMPILE_FLAGS([ \
	-Wall -Wextra -Wshadow -Wvla -Wundef -Wwrite-strings \
	-Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition \
	-Wpointer-arith -Wcast-qual -Wformat=2 -Wnull-dereference \
	-Wimplicit-fallthrough -Wdate-time -Wconversion -Wno-sign-conversion \
	-Wlogical-op -Wduplicated-cond -Wduplicated-branches -Wtrampolines \
	], [WARN_CFLAGS], [-Werror])
AS_IF([test "$enable_analyzer" != no], [
	AX_CHECK_COMPILE_FLAG([-fanalyzer],
		[AX_APPEND_FLAG([-fanalyzer], [WARN_CFLAGS])],
		[AC_MSG_ERROR([--enable-analyzer: $CC has no -fanalyzer])],
		[-Werror])])
forkflame_werror="warnings"
AS_IF([test "$enable_werror" != no], [
	AX_APPEND_FLAG([-Werror], [WARN_CFLAGS])
	forkflame_werror="errors"])

AS_IF([test "$with_sanitizers" != no], [
	enable_hardening="no, for the sanitizers"
	SAN_LDFLAGS="-fsanitize=$with_sanitizers"
	SAN_CFLAGS="$SAN_LDFLAGS -fno-sanitize-recover=all -fno-omit-frame-pointer"
	AX_CHECK_LINK_FLAG([$SAN_LDFLAGS], [],
		[AC_MSG_ERROR([--with-sanitizers: $CC does not link $SAN_LDFLAGS])])])
AS_IF([test "$enable_fuzzing" != no], [
	AX_CHECK_COMPILE_FLAG([-fsanitize=fuzzer-no-link], [],
		[AC_MSG_ERROR([--enable-fuzzing needs clang])], [-Werror])
	AX_APPEND_FLAG([-fsanitize=fuzzer-no-link], [SAN_CFLAGS])
	FUZZ_LDFLAGS=-fsanitize=fuzzer])
AS_IF([test "$enable_coverage" != no], [
	COV_CFLAGS="--coverage -O0"
	COV_LDFLAGS="--coverage"
	enable_hardening="no, for the coverage"])

AS_IF([test "$enable_hardening" = yes], [
	AX_APPEND_COMPILE_FLAGS([ \
		-fstack-protector-strong -fstack-clash-protection \
		-fstrict-flex-arrays=3 \
		], [HARD_CFLAGS], [-Werror])
	AX_APPEND_LINK_FLAGS([-Wl,-z,relro -Wl,-z,now -Wl,--as-needed],
		[HARD_LDFLAGS])
	FORKFLAME_FORTIFY])

# Undefined symbols in the library are found at its link, not at its first use.
# The sanitizers leave theirs to the program.
AS_IF([test "$with_sanitizers$enable_fuzzing" = nono],
	[AX_APPEND_LINK_FLAGS([-Wl,-z,defs], [LIB_LDFLAGS])])
AX_CHECK_VSCRIPT

# Counters and redzones are file-scope variables: tests/check-state.sh asks.
forkflame_instrumented=no
AS_IF([test "$with_sanitizers$enable_coverage$enable_fuzzing" != nonono],
	[forkflame_instrumented=yes])
AC_SUBST([INSTRUMENTED], [$forkflame_instrumented])
AM_CONDITIONAL([FUZZING], [test "$enable_fuzzing" != no])

AC_SUBST([WARN_CFLAGS])
AC_SUBST([HARD_CPPFLAGS])
AC_SUBST([HARD_CFLAGS])
AC_SUBST([HARD_LDFLAGS])
AC_SUBST([SAN_CFLAGS])
AC_SUBST([SAN_LDFLAGS])
AC_SUBST([FUZZ_LDFLAGS])
AC_SUBST([COV_CFLAGS])
AC_SUBST([COV_LDFLAGS])
AC_SUBST([LIB_LDFLAGS])
])

# FORKFLAME_FORTIFY
#
# The highest level of _FORTIFY_SOURCE that compiler and libc take without a
# word: 3, else 2. None where something has set it already, nor at -O0, where
# glibc warns that it cannot work.
AC_DEFUN([FORKFLAME_FORTIFY], [
AC_MSG_CHECKING([for the level of _FORTIFY_SOURCE])
forkflame_fortify=none
forkflame_save_CPPFLAGS=$CPPFLAGS
forkflame_save_CFLAGS=$CFLAGS
for level in 3 2; do
	CPPFLAGS="$forkflame_save_CPPFLAGS -D_FORTIFY_SOURCE=$level"
	CFLAGS="$forkflame_save_CFLAGS -Werror"
	AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <string.h>
		static char a[4];]], [[memset(a, 1, sizeof(a)); return a[3] - 1;]])],
		[forkflame_fortify=$level; break])
done
CPPFLAGS=$forkflame_save_CPPFLAGS
CFLAGS=$forkflame_save_CFLAGS
AC_MSG_RESULT([$forkflame_fortify])
AS_IF([test "$forkflame_fortify" != none],
	[HARD_CPPFLAGS="-D_FORTIFY_SOURCE=$forkflame_fortify"])
])
