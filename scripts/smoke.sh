#!/usr/bin/env bash
# Runs the tests marked `smoke` with the versions of Spark that are given (4.1, 4.3.0 ...), each in a virtual environment
# of its own. What does not exist for a version is skipped, and the summary says what that is and why.
set -euo pipefail
cd "$(dirname "$0")/.."
JAVA_HOME=$(scripts/java.sh)
export JAVA_HOME
files=$(grep -rl --include='test_*.py' 'mark\.smoke' tests)

outcome=0
for version in "$@"; do
  venv=.venv-spark-$version
  if [ ! -e "$venv/.ready" ] || [ requirements.lock -nt "$venv/.ready" ]; then
    scripts/setup.sh "$venv" "$version"
    touch "$venv/.ready"
  fi
  echo "== Spark $("$venv/bin/python" -c 'from pyspark.version import __version__; print(__version__)')"
  # PySpark 4.1 leaves sockets for the garbage collector to close.
  "$venv/bin/python" -m pytest -m smoke -q -W ignore::ResourceWarning -W ignore::pytest.PytestUnraisableExceptionWarning \
    $files || outcome=1
done
exit $outcome
