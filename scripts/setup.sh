#!/usr/bin/env bash
# Makes or refreshes the virtual environment given as $1 from requirements.lock, every file checked against its hash.
# With $2 (such as 4.1 or 4.1.3) PySpark is the newest of that version instead of the one in the lock.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${1:-.venv} spark=${2:-}

if ! "$venv/bin/python" -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
  python=$(scripts/python.sh)
  echo "Creating $venv with $("$python" --version) ..." >&2
  "$python" -m venv --clear "$venv"
fi
install=("$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-input)
from_source=(--no-deps --use-pep517 --no-build-isolation)

# PySpark comes as source. It and skyband are built with the setuptools of the lock, so that goes in first; and uv, which
# fetches and unpacks packages side by side. It knows nothing of what pip was told of mirrors, so pip does what it cannot.
parts=$(mktemp -d)
trap 'rm -rf "$parts"' EXIT
# A requirement ends with the first line that does not go on.
only() { awk -v name="$1==" 'index($0, name) == 1 { on = 1 } on { print } on && !/\\$/ { exit }' requirements.lock; }
without() { awk -v name="$1==" 'index($0, name) == 1 { off = 1 } !off { print } off && !/\\$/ { off = 0 }' requirements.lock; }
{ only setuptools; only uv; } >"$parts/backend"
side_by_side() {
  "$venv/bin/uv" pip install --quiet --no-config --compile-bytecode --python "$venv/bin/python" --require-hashes --no-deps --no-build-isolation \
    -r "$parts/all" || { echo "uv could not; pip goes on" >&2; return 1; }
}
cp requirements.lock "$parts/all"
[ -z "$spark" ] || without pyspark >"$parts/all"

echo "Installing packages (the first time takes minutes: PySpark alone is 450 MB) ..." >&2
"${install[@]}" --require-hashes --no-deps -r "$parts/backend"
side_by_side || "${install[@]}" --require-hashes "${from_source[@]}" -r "$parts/all"
if [ -n "$spark" ]; then
  case $spark in *.*.*) wanted="pyspark==$spark" ;; *) wanted="pyspark==$spark.*" ;; esac
  "${install[@]}" "${from_source[@]}" "$wanted"
fi
"${install[@]}" --no-deps --no-build-isolation --editable .
"$venv/bin/python" -m pip check
