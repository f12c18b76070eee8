#!/usr/bin/env bash
# Everything `make test` runs: the Rust tests and the tests against really started servers, on SQLite and on PostgreSQL.
# Runs on after a failed step, except the build and the installation of packages, shows at the end what failed and why,
# and exits non-zero if any did.
#
# TEST_POSTGRES_URL may name a PostgreSQL cluster to use; without it a throw-away one is started.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "$0")/lib.sh"
cd "$root"

scripts/deps.sh system
if [[ -z ${TEST_POSTGRES_URL:-} ]]; then
  exec scripts/with-postgres.sh --fast scripts/test.sh
fi

# What became of the steps.
record=$(mktemp -d)
touch "$record"/{lock,reasons,summary}

# Runs a command as a step. Its output is shown as it comes, or in one piece at the end where other steps run beside it.
is_beside=
step() {
  local name=$1 began=$SECONDS outcome=ok output summary shown=
  output=$(mktemp "$record/output.XXXXXX")
  if [[ -n $is_beside ]]; then say "... $name"; else say $'\n===' "$name"; fi
  start "${@:2}" >"$output" 2>&1
  if [[ -z $is_beside ]]; then
    tail --follow --lines=+1 --sleep-interval=0.2 --pid="$started" "$output" &
    shown=$!
  fi
  await "$started" || outcome=FAILED
  if [[ -n $shown ]]; then
    wait "$shown"
  fi
  summary=$(printf '%-6s  %4d s  %s' "$outcome" $((SECONDS - began)) "$name")
  {
    flock 9
    if [[ -n $is_beside ]]; then
      printf '\n=== %s\n' "$name"
      cat "$output"
    fi
    printf '%s\n' "$summary" | tee -a "$record/summary"
    if [[ $outcome == FAILED ]]; then
      printf '\n=== why "%s" failed\n%s\n' "$name" "$(reason "$output")" >>"$record/reasons"
    fi
  } 9>"$record/lock"
  rm "$output"
  [[ $outcome == ok ]]
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
  cat "$record/reasons"
  say $'\n=== summary'
  cat "$record/summary"
  say "all: $SECONDS s"
  rm -rf "$record"
}

export LATCHKEY_BIN=${CARGO_TARGET_DIR:-$root/target}/debug/latchkey
venv=$root/.test/venv/bin

# Beside the build, which does not always have work for all processors.
packages() {
  end_in_order
  cleanup() { :; }
  is_beside=yes
  step "npm and python packages" scripts/deps.sh packages
}
start packages
installing=$started
# Everything is compiled once, the server with it. By itself, or for some of the packages, cargo would choose other
# features of what they depend on and compile nearly all of it again.
step "build" cargo test --workspace --no-run || exit 1
await "$installing" || exit 1

# Alone, because many of them watch the time.
step "rust, sqlite" env -u TEST_DATABASE_URL cargo test --workspace --no-fail-fast || true
# The tests that look at TEST_DATABASE_URL. All others would only do the same again.
step "rust, postgres" env TEST_DATABASE_URL="$TEST_POSTGRES_URL" cargo test --workspace --no-fail-fast \
  --test it --test cli || true

# Against started servers. The Rust tests send every operation to both engines; these run on both only where the engine
# can make a difference beyond that.
sqlite=(scripts/with-server.sh sqlite)
postgres=(scripts/with-server.sh postgres)
with_scripts=(env LATCHKEY_SCRIPTS_DIR="$root/tests/browser/node_modules")

# One after the other, because they build the same application. They mostly wait for pages, and for tokens to expire.
browsers() {
  end_in_order
  cleanup() { :; }
  # Each on one engine: what browsers see depends on the kind of the instance, not on the engine.
  step "browser on production, sqlite" "${with_scripts[@]}" \
    tests/browser/production/with-certificates.sh "${sqlite[@]}" tests/browser/production/run.sh || true
  step "browser, postgres" "${with_scripts[@]}" "${postgres[@]}" tests/browser/run.sh || true
  step "applications, sqlite" env LATCHKEY_SCRIPTS_DIR="$root/tests/apps/node_modules" \
    scripts/with-server.sh --trusted sqlite tests/apps/run.sh || true
}

others() {
  end_in_order
  cleanup() { :; }
  step "debian package" tests/package/run.sh || true
  # Each on one engine: they are about what the SDKs send and make of the answers.
  step "javascript sdk, sqlite" "${sqlite[@]}" env -C tests/sdk/js node --test --test-reporter=spec || true
  step "python sdk, postgres" "${postgres[@]}" env -C tests/sdk/py "$venv/pytest" || true
  # On both: it sends texts and numbers nobody thought of, and the engines differ in what they store.
  step "schemathesis, sqlite" "${sqlite[@]}" tests/schemathesis/run.sh || true
  step "schemathesis, postgres" "${postgres[@]}" tests/schemathesis/run.sh || true
  # On both: what outlives kill -9 is the engine's doing. PostgreSQL gets a cluster of its own, because the shared one
  # is not durable.
  step "crash, sqlite" python3 tests/crash/crash.py sqlite || true
  step "crash of webhooks, sqlite" python3 tests/crash/webhooks.py sqlite || true
  step "crash, postgres" scripts/with-postgres.sh python3 tests/crash/crash.py postgres || true
  step "crash of webhooks, postgres" scripts/with-postgres.sh python3 tests/crash/webhooks.py postgres || true
}

is_beside=yes
start browsers
browsing=$started
code=0
run others || code=$?
await "$browsing" || code=$?
[[ $code -eq 0 && ! -s $record/reasons ]]
