#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# install.sh: install the programs that check-apps profiles.
#
# What Debian has comes from there; PySpark comes from PyPI, into a venv in
# $FORKFLAME_APPS (or ~/.cache/forkflame-apps): outside of the source tree, and of
# the build tree. Only what is missing is installed, each program by itself: what
# cannot be had is named, and check-apps says "not tested" of it. Always exits 0.
#
# The last and largest, torch, takes 650 MB: FORKFLAME_APPS_TORCH=no leaves it out.

set -u

cache=${FORKFLAME_APPS:-${XDG_CACHE_HOME:-$HOME/.cache}/forkflame-apps}
python=/usr/bin/python3
updated=no

say() {
	printf 'check-apps: %s\n' "$*"
}

is_installed() {
	dpkg-query -W -f '${db:Status-Abbrev}' "$1" 2>/dev/null | grep -q '^.i'
}

as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	else
		sudo -n "$@"
	fi
}

# No service is started by its package: RUNLEVEL=1 is invoke-rc.d's word for that.
apt_get() {
	as_root env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
		apt-get -q -y -o DPkg::Lock::Timeout=300 "$@" </dev/null
}

# debian PROGRAM PACKAGE...
debian() {
	program=$1
	shift
	missing=
	for package in "$@"; do
		is_installed "$package" || missing="$missing $package"
	done
	if [ -z "$missing" ]; then
		return
	fi
	if ! command -v apt-get >/dev/null; then
		say "$program: not installed, there is no apt-get here"
		return
	fi
	if [ "$updated" = no ]; then
		updated=yes
		apt_get update >/dev/null
	fi
	say "$program: installing$missing"
	# shellcheck disable=SC2086 # the list is words
	apt_get install --no-install-recommends $missing >"$cache/$program.log" \
		2>&1 || say "$program: could not be installed, see" \
		"$cache/$program.log"
}

# pypi PROGRAM REQUIREMENT...: in the venv, which is made first.
pypi() {
	program=$1
	shift
	venv=$cache/venv
	if "$venv/bin/python" -c "import $program" 2>/dev/null; then
		return
	fi
	say "$program: installing in $venv"
	{
		[ -x "$venv/bin/pip" ] || "$python" -m venv "$venv"
	} >"$cache/$program.log" 2>&1 &&
		"$venv/bin/pip" install -q "$@" >>"$cache/$program.log" 2>&1 ||
		say "$program: could not be installed, see $cache/$program.log"
}

mkdir -p "$cache" || exit 0
debian gunicorn gunicorn python3-setproctitle
debian uwsgi uwsgi-core uwsgi-plugin-python3
debian mod_wsgi apache2-bin libapache2-mod-wsgi-py3
debian celery python3-celery python3-redis redis-server
debian joblib python3-joblib
debian dask python3-distributed
debian mpi4py python3-mpi4py openmpi-bin
debian xdist python3-pytest-xdist
debian venv python3-venv
command -v java >/dev/null || debian java default-jre-headless
pypi pyspark pyspark==4.3.0
[ "${FORKFLAME_APPS_TORCH-}" = no ] || debian torch python3-torch
exit 0
