#!/usr/bin/env bash
# Runs a command with TEST_POSTGRES_URL set to a throw-away PostgreSQL cluster.
#
#   scripts/with-postgres.sh [--fast] COMMAND…
#
# The cluster is stopped and deleted afterwards, also on INT and TERM; the exit code is the command's.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "$0")/lib.sh"

options=()
if [[ ${1:-} == --fast ]]; then
  options=(--fast)
  shift
fi
[[ $# -gt 0 ]] || die "usage: scripts/with-postgres.sh [--fast] COMMAND…"

mkdir -p "$root/.test"
dir=$(mktemp -d "$root/.test/postgres.XXXXXX")
# The server runs as another user when we are root, and that user may not reach this tree.
if [[ $EUID -eq 0 ]] && ! runuser -u postgres -- test -x "$root/.test"; then
  rmdir "$dir"
  dir=$(mktemp -d)
fi
cleanup() { "$root/scripts/postgres.sh" stop "$dir"; }

TEST_POSTGRES_URL=$("$root/scripts/postgres.sh" start "$dir" "${options[@]}")
export TEST_POSTGRES_URL
run "$@"
