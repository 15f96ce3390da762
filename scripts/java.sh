#!/usr/bin/env bash
# Prints a JAVA_HOME that Spark can use: Java 17 or newer, $JAVA_HOME first, then PATH, then the usual places.
# Where none is found, installs one if apt-get may be used; otherwise says the one command to run.
set -euo pipefail

major() {
  "$1/bin/java" -version 2>&1 | sed -nE 's/^[^"]*version "([0-9]+).*/\1/p' | head -n 1
}

usable() {
  [ -n "$1" ] && [ -x "$1/bin/java" ] && [ "$(major "$1")" -ge 17 ] 2>/dev/null
}

home_of_path() {
  local java
  java=$(command -v java) || return 0
  java=$(realpath "$java" 2>/dev/null || echo "$java")
  dirname "$(dirname "$java")"
}

find_java() {
  local home
  for home in "${JAVA_HOME:-}" "$(home_of_path)" /usr/lib/jvm/* /opt/homebrew/opt/openjdk* /usr/local/opt/openjdk* \
    /Library/Java/JavaVirtualMachines/*/Contents/Home; do
    if usable "$home"; then
      echo "$home"
      return 0
    fi
  done
  return 1
}

install_java() {
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 || return 1
  echo "Installing Java ..." >&2
  apt-get update -qq >/dev/null 2>&1 || return 1
  local package
  for package in openjdk-17-jre-headless openjdk-21-jre-headless default-jre-headless; do
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$package" >/dev/null 2>&1 && return 0
  done
  return 1
}

the_one_command() {
  if command -v apt-get >/dev/null 2>&1; then
    echo "sudo apt-get install -y openjdk-17-jre-headless"
  elif command -v dnf >/dev/null 2>&1; then
    echo "sudo dnf install -y java-17-openjdk-headless"
  elif command -v brew >/dev/null 2>&1; then
    echo "brew install openjdk@17"
  else
    echo "(your system's way to install a Java 17 runtime)"
  fi
}

find_java && exit 0
if install_java && find_java; then
  exit 0
fi
echo "Spark needs Java 17 or newer and none was found. Run: $(the_one_command)" >&2
exit 1
