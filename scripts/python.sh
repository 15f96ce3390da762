#!/usr/bin/env bash
# Prints the path of a Python that can make virtual environments: 3.11 or newer, $PYTHON first if it is set.
set -euo pipefail

new_enough() {
  command -v "$1" >/dev/null 2>&1 && "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

has_venv() {
  "$1" -c 'import ensurepip, venv' >/dev/null 2>&1
}

# Debian and Ubuntu keep venv in a package of its own.
install_venv() {
  local package
  package="python$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])')-venv"
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "Installing $package ..." >&2
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$package"; } >/dev/null 2>&1 || true
  fi
  has_venv "$1" && return
  echo "$(command -v "$1") cannot make virtual environments. Run: sudo apt-get install -y $package" >&2
  return 1
}

# Versions the lock was tried with come before newer ones.
for candidate in ${PYTHON:-} python3.13 python3.12 python3.11 python3 python; do
  if new_enough "$candidate"; then
    has_venv "$candidate" || install_venv "$candidate" || exit 1
    command -v "$candidate"
    exit 0
  fi
done
echo "No Python 3.11 or newer was found. Install one, or name it: make PYTHON=/path/to/python3.11 ..." >&2
exit 1
