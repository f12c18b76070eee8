#!/usr/bin/env bash
# Everything `make test` runs: the Rust tests and the tests against really started servers, on SQLite
# and on PostgreSQL. Runs on after a failed step, shows at the end what failed and why, and exits non-zero
# if any did.
#
# TEST_POSTGRES_URL may name a PostgreSQL cluster to use; without it a throw-away one is started.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "$0")/lib.sh"
cd "$root"

scripts/deps.sh
if [[ -z ${TEST_POSTGRES_URL:-} ]]; then
  exec scripts/with-postgres.sh --fast scripts/test.sh
fi

summary=()
reasons=()
failed=0
output=$(mktemp)

step() {
  local name=$1 began=$SECONDS outcome=ok out copier
  say $'\n===' "$name"
  exec {out}> >(exec tee "$output")
  copier=$!
  run "${@:2}" >&"$out" 2>&1 || outcome=FAILED
  exec {out}>&-
  finish "$copier"
  if [[ $outcome == FAILED ]]; then
    failed=1
    reasons+=($'\n'"=== why \"$name\" failed"$'\n'"$(reason "$output")")
  fi
  summary+=("$(printf '%-6s  %4d s  %s' "$outcome" $((SECONDS - began)) "$name")")
  [[ $outcome == ok ]]
}

# Waits for what copies the output; not for ever, because something a step has left behind may hold it open.
finish() {
  local tries
  for tries in {1..50}; do
    kill -0 "$1" 2>/dev/null || return 0
    sleep 0.1
  done
  say "Something still writes after ${tries} tenths of a second."
}

# The part of an output that tells what failed: 40 lines from where a test runner begins to, or the last 40.
# The server's log, which follows it, is left out.
reason() {
  sed "/^--- the end of the server's log/,/^---\$/d" "$1" | awk -v most=40 '
    { line[NR] = $0 }
    !tests && /^(failures:|.* failing tests:|=+ (FAILURES|ERRORS) =+)/ { tests = NR }
    !build && /^error(\[|:)/ { build = NR }
    END {
      from = tests ? tests : build ? build : NR - most + 1
      if (from < 1) from = 1
      for (i = from; i <= NR && i < from + most; i++) print substr(line[i], 1, 300)
    }'
}

cleanup() {
  rm -f "$output"
  if [[ ${#reasons[@]} -gt 0 ]]; then
    printf '%s\n' "${reasons[@]}"
  fi
  if [[ ${#summary[@]} -gt 0 ]]; then
    say $'\n=== summary'
    printf '%s\n' "${summary[@]}"
  fi
}

export LATCHKEY_BIN=${CARGO_TARGET_DIR:-$root/target}/debug/latchkey
venv=$root/.test/venv/bin

step "build" cargo build --bin latchkey || exit 1
step "rust, sqlite" env -u TEST_DATABASE_URL cargo test --workspace || true
step "rust, postgres" env TEST_DATABASE_URL="$TEST_POSTGRES_URL" cargo test -p latchkey-db -p latchkey-app -p latchkey-server || true

for engine in sqlite postgres; do
  on_server=(scripts/with-server.sh "$engine")
  step "javascript sdk, $engine" "${on_server[@]}" env -C tests/sdk/js node --test --test-reporter=spec || true
  step "python sdk, $engine" "${on_server[@]}" env -C tests/sdk/py "$venv/pytest" || true
  step "schemathesis, $engine" "${on_server[@]}" tests/schemathesis/run.sh || true
  step "browser, $engine" env LATCHKEY_SCRIPTS_DIR="$root/tests/browser/node_modules" \
    "${on_server[@]}" tests/browser/run.sh || true
done
# On SQLite alone: nothing of what browsers see of a production instance depends on the engine.
step "browser on production, sqlite" env LATCHKEY_SCRIPTS_DIR="$root/tests/browser/node_modules" \
  tests/browser/production/with-certificates.sh scripts/with-server.sh sqlite tests/browser/production/run.sh || true
step "crash, sqlite" python3 tests/crash/crash.py sqlite || true
step "crash of webhooks, sqlite" python3 tests/crash/webhooks.py sqlite || true
# A cluster of its own, because the shared one is not durable.
step "crash, postgres" scripts/with-postgres.sh python3 tests/crash/crash.py postgres || true
step "crash of webhooks, postgres" scripts/with-postgres.sh python3 tests/crash/webhooks.py postgres || true

exit "$failed"
