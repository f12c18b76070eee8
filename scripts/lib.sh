# Shared by the scripts here; source it, do not run it.
#
# A script that sources this gets INT and TERM turned into an orderly exit: the commands started with
# `run` and `start` are stopped with everything they started, then the script's own `cleanup` function is called.
# shellcheck shell=bash

# shellcheck disable=SC2034  # Used by those who source this.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '%s\n' "$*" >&2; }

die() {
  say "$*"
  exit 1
}

# Starts a command in a process group of its own and leaves its number in `started`. Its own group, because a
# test runner that is stopped must not leave its workers behind.
declare -A children=()
start() {
  set -m
  "$@" </dev/null &
  started=$!
  set +m
  children[$started]=1
}

# Waits for a command that was started and returns its exit code.
await() {
  local code=0
  wait "$1" || code=$?
  unset "children[$1]"
  return "$code"
}

# Runs a command in a process group of its own and returns its exit code.
run() {
  start "$@"
  await "$started"
}

on_exit() {
  local code=$? child
  # Whoever ends a whole session sends more than one signal; none of them may keep us from cleaning up.
  trap '' INT TERM
  trap - EXIT
  for child in "${!children[@]}"; do
    kill -TERM -- "-$child" 2>/dev/null || true
  done
  for child in "${!children[@]}"; do
    for _ in {1..150}; do
      kill -0 -- "-$child" 2>/dev/null || break
      sleep 0.2
    done
    kill -KILL -- "-$child" 2>/dev/null || true
    wait "$child" 2>/dev/null || true
  done
  cleanup
  exit "$code"
}
cleanup() { :; }

# Also for a function that was started: it is a process of its own, which inherits none of this.
end_in_order() {
  children=()
  trap on_exit EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
}
end_in_order

# The directory of the newest PostgreSQL server programs. Debian keeps them out of PATH.
postgres_bin() {
  local newest
  newest=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
  if [[ -x $newest/initdb ]]; then
    printf '%s\n' "$newest"
  elif command -v initdb >/dev/null; then
    dirname "$(command -v initdb)"
  else
    return 1
  fi
}

# Prints as many different free TCP ports of the loopback interface as asked for, one per line.
free_ports() { python3 "$root/scripts/free_ports.py" "$1"; }
