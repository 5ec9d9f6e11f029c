#!/bin/sh
# install_packages.sh LIST: installs the Debian packages of LIST that are missing. Where it cannot
# (no apt-get, no root and no sudo), it prints the exact list and stops.
set -eu
missing=""
for package in $(sed 's/#.*//' "$1"); do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

as_root=""
[ "$(id -u)" = 0 ] || as_root="sudo"
if ! command -v apt-get >/dev/null || { [ -n "$as_root" ] && ! command -v sudo >/dev/null; }; then
  echo "breakeven needs these Debian packages; please install them:$missing" >&2
  exit 1
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
install="$as_root apt-get install -y -qq --no-install-recommends$missing"
if ! { $as_root apt-get update -qq && $install; } >"$log" 2>&1; then
  tail -5 "$log" >&2
  echo "could not install them; breakeven needs:$missing" >&2
  exit 1
fi
