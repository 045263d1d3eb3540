#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# install.sh: get the programs that open our views, for check_views.py.
#
# What comes from npm goes into $FORKFLAME_VIEWS (~/.cache/forkflame-views), the
# rest is installed by the machine's package manager. Run again, it gets what is
# missing. Nothing here is needed to build, and what cannot be had is named: its
# checks then say "not tested".

set -u

cache=${FORKFLAME_VIEWS:-$HOME/.cache/forkflame-views}
npm=$cache/npm
missing=0

# Newer ones may open what these do not, or the other way round: these were
# looked at. Node 24 is what profiler-cli wants, whichever runs npm.
npm_packages='speedscope@1.25.0 ajv@8 @firefox-devtools/profiler-cli@0.10.0'
node_package=node-linux-$(uname -m | sed 's/x86_64/x64/;s/aarch64/arm64/')@24

say() {
	printf 'install.sh: %s\n' "$*"
}

lost() {
	missing=$((missing + 1))
	say "not to be had: $*"
}

as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	else
		sudo -n "$@"
	fi
}

# package COMMAND-OR-FILE NAME...: one that brings it, by apt-get.
package() {
	what=$1
	shift
	if command -v "$what" >/dev/null || [ -e "$what" ]; then
		return
	fi
	if ! command -v apt-get >/dev/null; then
		lost "$what (install it by hand: Debian has it in $1)"
		return
	fi
	if [ -z "${updated-}" ]; then
		as_root apt-get update -q >"$cache/apt.log" 2>&1
		updated=yes
	fi
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y \
		--no-install-recommends -o DPkg::Lock::Timeout=300 "$@" \
		>>"$cache/apt.log" 2>&1 ||
		lost "$what (apt-get install $1 failed: $cache/apt.log)"
}

npm_install() {
	# Scripts of packages are not run: none that is needed has one.
	npm install --prefix "$npm" --no-fund --no-audit --no-package-lock \
		--ignore-scripts --engine-strict=false "$@" \
		>>"$cache/npm.log" 2>&1
}

mkdir -p "$npm" || exit 1
# A package.json of its own, or npm would look for one further up.
[ -e "$npm/package.json" ] || echo '{"private":true}' >"$npm/package.json"

if ! command -v npm >/dev/null; then
	package npm npm nodejs
fi
if command -v npm >/dev/null; then
	if [ ! -e "$npm/done" ]; then
		: >"$cache/npm.log"
		# shellcheck disable=SC2086 # the list is words
		if npm_install $npm_packages "$node_package"; then
			: >"$npm/done"
		else
			lost "speedscope, ajv, profiler-cli (npm failed:" \
				"$cache/npm.log)"
		fi
	fi
else
	lost 'speedscope, ajv, profiler-cli (there is no npm)'
fi

package chromium chromium
package jq jq
package xmllint libxml2-utils
package callgrind_annotate valgrind
package /usr/share/perl5/Devel/NYTProf/flamegraph.pl libdevel-nytprof-perl
go tool pprof -h >/dev/null 2>&1
if [ $? -gt 2 ] || ! command -v go >/dev/null; then
	package go golang-go
fi

if [ "$missing" -ne 0 ]; then
	say "$missing could not be had; what they open is not tested"
	exit 1
fi
say "everything is there ($cache)"
