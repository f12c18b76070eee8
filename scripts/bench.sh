#!/usr/bin/env bash
# What `make bench` runs: builds the server and the bench for release and measures both engines. The
# table is printed and kept in .test/bench-output.txt; progress is on stderr. Arguments go to the
# bench: --quick for a look in minutes, --help for the rest.
#
# TEST_POSTGRES_URL may name a durable PostgreSQL cluster to use; without it a throw-away one is
# started, and where none is installed only SQLite is measured. LATCHKEY_BIN may name another binary
# to measure.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "$0")/lib.sh"
cd "$root"

release=${CARGO_TARGET_DIR:-$root/target}/release
if [[ -z ${LATCHKEY_BIN:-} ]]; then
  cargo build --release --bin latchkey
  export LATCHKEY_BIN=$release/latchkey
fi
cargo build --release --bin latchkey-bench

options=(--server "$LATCHKEY_BIN" --dir "$root/.test/bench")
if [[ -n ${TEST_POSTGRES_URL:-} ]]; then
  options+=(--postgres "$TEST_POSTGRES_URL")
elif postgres_bin >/dev/null; then
  exec scripts/with-postgres.sh scripts/bench.sh "$@"
else
  say "No PostgreSQL server is installed and TEST_POSTGRES_URL is not set: only SQLite is measured."
fi

output=$root/.test/bench-output.txt
mkdir -p "$root/.test"
# What an interrupted or failed run left for its reader; at a million users that is gigabytes.
rm -rf "$root/.test/bench"
code=0
run "$release/latchkey-bench" "${options[@]}" "$@" >"$output" || code=$?
cat "$output"
exit "$code"
