#!/usr/bin/env bash
# Installs what the tests need and is not there yet.
#
#   scripts/deps.sh system     PostgreSQL, Chromium, curl, openssl, certutil and Python's venv module, as Debian's packages
#   scripts/deps.sh packages   the npm packages of tests/sdk/js, tests/browser and tests/apps, and a Python environment
#                              in .test/venv
#
# Without an argument, both. Node, npm, Python 3 and Rust are expected to be there. Quick when nothing is missing: what
# was installed is stamped with the hash of its lock file.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "$0")/lib.sh"
cd "$root"
mkdir -p .test

system() {
  local program
  for program in node npm python3; do
    command -v "$program" >/dev/null || die "$program is missing; install it and try again."
  done

  local missing=() as_root=() version advice
  version=$(bin=$(postgres_bin) && "$bin/postgres" --version | grep -oE '[0-9]+' | head -n 1) || version=0
  [[ $version -ge 15 ]] || missing+=(postgresql)
  [[ -n ${CHROMIUM:-} ]] || command -v chromium >/dev/null || missing+=(chromium)
  command -v curl >/dev/null || missing+=(curl)
  command -v openssl >/dev/null || missing+=(openssl)
  command -v certutil >/dev/null || missing+=(libnss3-tools)
  python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)

  if [[ ${#missing[@]} -gt 0 ]]; then
    advice="Install these Debian packages yourself and try again: ${missing[*]} (PostgreSQL 15 or newer)."
    command -v apt-get >/dev/null || die "This system has no apt-get. $advice"
    if [[ $EUID -ne 0 ]]; then
      command -v sudo >/dev/null || die "Installing packages needs root, and there is no sudo. $advice"
      as_root=(sudo)
    fi
    say "Installing Debian packages: ${missing[*]}"
    "${as_root[@]}" apt-get update -q || die "apt-get update failed. $advice"
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "${missing[@]}" ||
      die "apt-get install failed. $advice"
  fi
}

# Is STAMP the hash of the other arguments' contents?
is_current() { [[ -f $1 && $(cat "$1") == "$(cat "${@:2}" | sha256sum)" ]]; }
stamp() { cat "${@:2}" | sha256sum >"$1"; }

# Installs the npm packages of a directory, if they are not the ones of its lock file.
npm_packages() {
  local directory=$1 mark=$2
  if [[ ! -d $directory/node_modules ]] || ! is_current "$mark" "$directory/package-lock.json"; then
    say "Installing the npm packages of $directory"
    rm -f "$mark"
    npm --prefix "$directory" ci --no-audit --no-fund
    stamp "$mark" "$directory/package-lock.json"
  fi
}

packages() {
  npm_packages tests/sdk/js .test/npm.stamp
  npm_packages tests/browser .test/npm-browser.stamp
  npm_packages tests/apps .test/npm-apps.stamp

  local requirements=tests/sdk/py/requirements.txt
  if [[ ! -x .test/venv/bin/python ]] || ! is_current .test/venv.stamp $requirements; then
    say "Installing the Python packages of $requirements into .test/venv"
    rm -rf .test/venv .test/venv.stamp
    python3 -m venv .test/venv
    .test/venv/bin/pip install --quiet --disable-pip-version-check --requirement $requirements
    stamp .test/venv.stamp $requirements
  fi
}

case ${1:-all} in
  all)
    system
    packages
    ;;
  system | packages) "$1" ;;
  *) die "usage: scripts/deps.sh [system|packages]" ;;
esac
