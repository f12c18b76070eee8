#!/usr/bin/env bash
# Runs the Rust tests and the tests against started servers.
#
#   scripts/test.sh        what `make test` runs: what must pass before a change lands, in less than 25 minutes
#   scripts/test.sh all    what `make test-all` runs: that, and everything else. Steps that include a step of the shorter
#                          run replace it, so no test runs twice.
#
# Runs on after a failed step, except the build and the installation of packages. A test that failed runs once more; a
# test that fails twice fails the run. The end of the output shows what failed and why, the steps, and the counts.
#
# TEST_POSTGRES_URL may name a PostgreSQL cluster to use; without it a throw-away one is started.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "$0")/lib.sh"
cd "$root"

case ${1:-} in
  '') is_all= ;;
  all) is_all=yes ;;
  *) die "usage: scripts/test.sh [all]" ;;
esac

scripts/deps.sh system
if [[ -z ${TEST_POSTGRES_URL:-} ]]; then
  exec scripts/with-postgres.sh --fast scripts/test.sh "$@"
fi

# What became of the steps.
record=$(mktemp -d)
touch "$record"/{lock,reasons,summary,counts}

# Runs a command as a step. Its output is shown as it comes, or in one piece at the end where other steps run beside it.
is_beside=
step() {
  local name=$1 began=$SECONDS outcome=ok output counts summary shown= passed failed again
  output=$(mktemp "$record/output.XXXXXX")
  counts=$(mktemp "$record/counts.XXXXXX")
  if [[ -n $is_beside ]]; then say "... $name"; else say $'\n===' "$name"; fi
  start env TEST_COUNTS="$counts" "${@:2}" >"$output" 2>&1
  if [[ -z $is_beside ]]; then
    tail --follow --lines=+1 --sleep-interval=0.2 --pid="$started" "$output" &
    shown=$!
  fi
  await "$started" || outcome=FAILED
  if [[ -n $shown ]]; then
    wait "$shown"
  fi
  if [[ $outcome == FAILED ]] && ! awk '$2 > 0 { found = 1 } END { exit !found }' "$counts"; then
    # The step itself counts as a test that failed.
    echo 0 1 0 >>"$counts"
  fi
  read -r passed failed again < <(sum "$counts")
  summary=$(printf '%-6s  %5d s  %6s  %6s  %6s  %s' "$outcome" $((SECONDS - began)) \
    "$passed" "$failed" "$again" "$name")
  {
    flock 9
    if [[ -n $is_beside ]]; then
      printf '\n=== %s\n' "$name"
      cat "$output"
    fi
    printf '%s\n' "$summary" >>"$record/summary"
    cat "$counts" >>"$record/counts"
    printf '%s: %s after %d s\n' "$name" "$outcome" $((SECONDS - began))
    if [[ $outcome == FAILED ]]; then
      printf '\n=== why "%s" failed\n%s\n' "$name" "$(reason "$output")" >>"$record/reasons"
    fi
  } 9>"$record/lock"
  rm "$output" "$counts"
  [[ $outcome == ok ]]
}

# Adds up the lines of a file of counts: passed, failed, passed at the second try. Steps that count no tests show dashes.
sum() { awk '{ p += $1; f += $2; a += $3 } END { if (NR) print p, f, a + 0; else print "-", "-", "-" }' "$1"; }

# The part of an output that tells what failed: 40 lines from where a test runner begins to, or the last 40.
# The server's log, which follows it, is left out.
reason() {
  sed "/^--- the end of the server's log/,/^---\$/d" "$1" | awk -v most=40 '
    { line[NR] = $0 }
    !tests && /^(--- .* failed twice|.* failing tests:|=+ (FAILURES|ERRORS) =+)/ { tests = NR }
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
  printf '%-6s  %7s  %6s  %6s  %6s  %s\n' result time passed failed again step
  cat "$record/summary"
  say "all: $SECONDS s"
  local passed failed again
  read -r passed failed again < <(sum "$record/counts")
  if [[ $again =~ ^[1-9] ]]; then
    say "Passed at the second try ('again'): $again. The output of each step names them."
  fi
  printf '%s passed, %s failed\n' "${passed/-/0}" "${failed/-/0}"
  rm -rf "$record"
}

export LATCHKEY_BIN=${CARGO_TARGET_DIR:-$root/target}/debug/latchkey

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
step "rust, sqlite" env -u TEST_DATABASE_URL scripts/rust_tests.py || true
if [[ -n $is_all ]]; then
  # Unit tests know no engine.
  step "rust, postgres" env TEST_DATABASE_URL="$TEST_POSTGRES_URL" scripts/rust_tests.py --only-tests || true
else
  step "rust, postgres" env TEST_DATABASE_URL="$TEST_POSTGRES_URL" scripts/rust_tests.py both_engines:: || true
fi

# Against started servers, each on one engine: what SDKs and browsers send and see does not depend on it, and the Rust
# tests send every operation to both engines.
sqlite=(scripts/with-server.sh sqlite)
postgres=(scripts/with-server.sh postgres)
with_scripts=(env LATCHKEY_SCRIPTS_DIR="$root/tests/browser/node_modules")
production=("${with_scripts[@]}" tests/browser/production/with-certificates.sh
  "${sqlite[@]}" tests/browser/production/run.sh)
development=("${with_scripts[@]}" "${postgres[@]}" tests/browser/run.sh)

# Suites with browsers run one after the other, because they build the same application. They mostly wait for pages, and
# for tokens to expire.
browsers() {
  end_in_order
  cleanup() { :; }
  if [[ -n $is_all ]]; then
    step "browser on production, sqlite" "${production[@]}" || true
    step "browser, postgres" "${development[@]}" || true
    step "applications, sqlite" env LATCHKEY_SCRIPTS_DIR="$root/tests/apps/node_modules" \
      scripts/with-server.sh --trusted sqlite tests/apps/run.sh || true
  else
    step "browser smoke on production, sqlite" "${production[@]}" --smoke || true
    step "browser smoke, postgres" "${development[@]}" --smoke || true
  fi
}

# Crash tests run on both engines: what outlives kill -9 is the engine's doing. PostgreSQL gets a cluster of its own,
# because the shared one is not durable.
crashes() {
  if [[ -n $is_all ]]; then
    step "crash, sqlite" python3 tests/crash/crash.py sqlite || true
    step "crash of webhooks, sqlite" python3 tests/crash/webhooks.py sqlite || true
    step "crash, postgres" scripts/with-postgres.sh python3 tests/crash/crash.py postgres || true
    step "crash of webhooks, postgres" scripts/with-postgres.sh python3 tests/crash/webhooks.py postgres || true
  else
    step "short crash, sqlite" env CRASH_ROUNDS=2 python3 tests/crash/crash.py sqlite || true
    step "short crash, postgres" env CRASH_ROUNDS=2 scripts/with-postgres.sh python3 tests/crash/crash.py postgres || true
  fi
}

# Waits for tokens to expire, and for one request after the other.
javascript() {
  end_in_order
  cleanup() { :; }
  step "javascript sdk, sqlite" "${sqlite[@]}" env -C tests/sdk/js "$root/scripts/file_tests.py" node || true
}

others() {
  end_in_order
  cleanup() { :; }
  step "python sdk, postgres" "${postgres[@]}" env -C tests/sdk/py "$root/scripts/file_tests.py" pytest || true
  step "debian package" tests/package/run.sh || true
  step "test runners" scripts/test_runners.py || true
  crashes
  if [[ -n $is_all ]]; then
    # On both engines: it sends texts and numbers nobody thought of, and the engines differ in what they store.
    step "schemathesis, sqlite" "${sqlite[@]}" tests/schemathesis/run.sh || true
    step "schemathesis, postgres" "${postgres[@]}" tests/schemathesis/run.sh || true
  fi
}

# Side by side: each of the three waits for most of its time.
is_beside=yes
lanes=()
for lane in browsers javascript others; do
  start "$lane"
  lanes+=("$started")
done
code=0
for lane in "${lanes[@]}"; do
  await "$lane" || code=$?
done
[[ $code -eq 0 && ! -s $record/reasons ]]
