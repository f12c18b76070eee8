#!/usr/bin/env bash
# Everything `make test` runs: the Rust tests and the tests against really started servers, on SQLite
# and on PostgreSQL. Runs on after a failed step, shows a summary, and exits non-zero if any failed.
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
failed=0

step() {
  local name=$1 began=$SECONDS outcome=ok
  say $'\n===' "$name"
  run "${@:2}" || outcome=FAILED
  [[ $outcome == ok ]] || failed=1
  summary+=("$(printf '%-6s  %4d s  %s' "$outcome" $((SECONDS - began)) "$name")")
  [[ $outcome == ok ]]
}

cleanup() {
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
step "crash, sqlite" python3 tests/crash/crash.py sqlite || true
step "crash of webhooks, sqlite" python3 tests/crash/webhooks.py sqlite || true
# A cluster of its own, because the shared one is not durable.
step "crash, postgres" scripts/with-postgres.sh python3 tests/crash/crash.py postgres || true
step "crash of webhooks, postgres" scripts/with-postgres.sh python3 tests/crash/webhooks.py postgres || true

exit "$failed"
