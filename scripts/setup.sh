#!/usr/bin/env bash
# Makes or refreshes the virtual environment given as $1 from requirements.lock, every file checked against its hash.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${1:-.venv}

if ! "$venv/bin/python" -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
  python=$(scripts/python.sh)
  echo "Creating $venv with $("$python" --version) ..." >&2
  "$python" -m venv --clear "$venv"
fi
install=("$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-input)

# PySpark comes as source. It and skyband are built with the setuptools of the lock, so that goes in first.
backend=$(mktemp)
trap 'rm -f "$backend"' EXIT
awk '/^setuptools==/ { on = 1 } on { print } on && !/\\$/ { exit }' requirements.lock >"$backend"

echo "Installing packages (the first time takes minutes: PySpark alone is 450 MB) ..." >&2
"${install[@]}" --require-hashes --no-deps -r "$backend"
"${install[@]}" --require-hashes --no-deps --use-pep517 --no-build-isolation -r requirements.lock
"${install[@]}" --no-deps --no-build-isolation --editable .
"$venv/bin/python" -m pip check
