#!/bin/sh
# Installs what is missing, by package name: tests/deps.sh package ...
# As root (or with sudo that asks no password) through apt; otherwise says what to install.
set -u
missing=
for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing="$missing $package"
done
[ -z "$missing" ] && exit 0

as_root=
if [ "$(id -u)" -ne 0 ]; then
    if sudo -n true 2>/dev/null; then as_root=sudo; else as_root=none; fi
fi
if [ "$as_root" = none ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "These packages are missing; install them, then try again:" >&2
    echo "    apt-get install$missing" >&2
    exit 1
fi
echo "Installing$missing"
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get install -y -q $missing >/dev/null 2>&1 && exit 0
# The lists of a fresh machine are empty or old.
$as_root apt-get update -q >/dev/null 2>&1
$as_root apt-get install -y -q $missing >/dev/null || {
    echo "apt-get could not install:$missing" >&2
    exit 1
}
