#!/usr/bin/env bash
# Runs a command against a server started for it.
#
#   scripts/with-server.sh [--trusted] sqlite|postgres COMMAND…
#
# The server gets free ports and an empty temporary data directory; on postgres an empty database in
# the cluster of TEST_POSTGRES_URL (see with-postgres.sh). The binary is LATCHKEY_BIN, by default the
# debug build. Everything is stopped and deleted afterwards, also on INT and TERM; the exit code is
# the command's, and the server's log is shown when that is not 0.
#
# With LATCHKEY_TLS_CERTIFICATE in the environment the server answers over TLS; CURL_CA_BUNDLE then names the
# authority that curl trusts.
#
# With --trusted the Frontend API speaks HTTPS too, with certificates of a local authority (`latchkey trust`) that a
# Chromium trusts whose HOME is CHROMIUM_HOME, and nobody else.
#
# The command finds the server's own LATCHKEY_* settings in its environment, and
#   LATCHKEY_URL                where the server answers
#   CLERK_SECRET_KEY, CLERK_PUBLISHABLE_KEY, LATCHKEY_INSTANCE_ID
#                               the development instance
#   LATCHKEY_OTHER_SECRET_KEY   a second, production instance
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "$0")/lib.sh"

is_trusted=
if [[ ${1:-} == --trusted ]]; then
  is_trusted=yes
  shift
fi
engine=${1:-}
shift || true
[[ $# -gt 0 ]] || die "usage: scripts/with-server.sh [--trusted] sqlite|postgres COMMAND…"

export LATCHKEY_BIN=${LATCHKEY_BIN:-${CARGO_TARGET_DIR:-$root/target}/debug/latchkey}
[[ -x $LATCHKEY_BIN ]] || die "$LATCHKEY_BIN is missing; build it with cargo build, or set LATCHKEY_BIN."

server=
database=
mkdir -p "$root/.test"
dir=$(mktemp -d "$root/.test/server.XXXXXX")

psql_admin() { "$(postgres_bin)/psql" --quiet --no-psqlrc --set=ON_ERROR_STOP=1 --command="$1" "$TEST_POSTGRES_URL"; }

stop_server() {
  local tries
  kill -TERM "$server" 2>/dev/null || return 0
  for tries in {1..100}; do
    kill -0 "$server" 2>/dev/null || return 0
    sleep 0.1
  done
  say "The server did not stop within ${tries} tenths of a second; killing it."
  kill -KILL "$server" 2>/dev/null || true
}

cleanup() {
  if [[ -n $server ]]; then
    stop_server
  fi
  if [[ -n $database ]]; then
    psql_admin "DROP DATABASE IF EXISTS $database WITH (FORCE)" || true
  fi
  rm -rf "$dir"
}

case $engine in
  sqlite) LATCHKEY_DATABASE="sqlite:$dir/data/latchkey.db" ;;
  postgres)
    : "${TEST_POSTGRES_URL:?run this under scripts/with-postgres.sh}"
    database="latchkey_$$_$RANDOM"
    psql_admin "CREATE DATABASE $database"
    LATCHKEY_DATABASE="${TEST_POSTGRES_URL%/*}/$database"
    ;;
  *) die "The engine is sqlite or postgres, not '$engine'." ;;
esac
mapfile -t ports < <(free_ports 2)
export LATCHKEY_DATABASE
export LATCHKEY_LISTEN="127.0.0.1:${ports[0]}"
export LATCHKEY_FRONTEND_LISTEN="127.0.0.1:${ports[1]}"
export LATCHKEY_DATA_DIR="$dir/data"
export LATCHKEY_RATE_LIMITS=off
export LATCHKEY_URL="http${LATCHKEY_TLS_CERTIFICATE:+s}://$LATCHKEY_LISTEN"

if [[ -n $is_trusted ]]; then
  export CHROMIUM_HOME=$dir/home
  mkdir "$CHROMIUM_HOME"
  HOME=$CHROMIUM_HOME "$LATCHKEY_BIN" trust --skip-system >"$dir/trust.log" 2>&1 || die "$(cat "$dir/trust.log")"
fi

show_log() {
  say "--- the end of the server's log"
  tail -n 100 "$dir/log" >&2
  say "---"
}

"$LATCHKEY_BIN" serve >"$dir/log" 2>&1 &
server=$!
for tries in {1..300}; do
  if curl --silent --fail --output /dev/null "$LATCHKEY_URL/readyz"; then
    break
  elif ! kill -0 "$server" 2>/dev/null || [[ $tries -eq 300 ]]; then
    show_log
    die "The server did not become ready."
  fi
  sleep 0.1
done

field() { python3 -c 'import json, sys; print(json.loads(sys.argv[1])[sys.argv[2]])' "$1" "$2"; }

development=$("$LATCHKEY_BIN" keys create --json)
CLERK_SECRET_KEY=$(field "$development" secret_key)
CLERK_PUBLISHABLE_KEY=$(field "$development" publishable_key)
LATCHKEY_INSTANCE_ID=$(field "$development" instance_id)
production=$("$LATCHKEY_BIN" instances create --environment production --frontend-api clerk.example.com --json)
LATCHKEY_OTHER_SECRET_KEY=$(field "$production" secret_key)
# Off by default; the tests reach every operation.
organizations='{"enabled": true, "domains": true, "domain_enrollment_modes": ["automatic_invitation", "automatic_suggestion"]}'
for instance in "$LATCHKEY_INSTANCE_ID" "$(field "$production" instance_id)"; do
  "$LATCHKEY_BIN" settings set --instance "$instance" "organizations=$organizations" >/dev/null
done
export CLERK_SECRET_KEY CLERK_PUBLISHABLE_KEY LATCHKEY_INSTANCE_ID LATCHKEY_OTHER_SECRET_KEY

code=0
run "$@" || code=$?
if [[ $code -ne 0 ]]; then
  show_log
fi
exit "$code"
