# Shared by the scripts here; source it, do not run it.
#
# A script that sources this gets INT and TERM turned into an orderly exit: the command started with
# `run` is stopped with everything it started, then the script's own `cleanup` function is called.
# shellcheck shell=bash

# shellcheck disable=SC2034  # Used by those who source this.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '%s\n' "$*" >&2; }

die() {
  say "$*"
  exit 1
}

# Runs a command in a process group of its own and returns its exit code. Its own group, because a
# test runner that is stopped must not leave its workers behind.
child=
run() {
  local code=0
  set -m
  "$@" </dev/null &
  child=$!
  set +m
  wait "$child" || code=$?
  child=
  return "$code"
}

on_exit() {
  local code=$?
  # Whoever ends a whole session sends more than one signal; none of them may keep us from cleaning up.
  trap '' INT TERM
  trap - EXIT
  if [[ -n $child ]]; then
    kill -TERM -- "-$child" 2>/dev/null || true
    for _ in {1..150}; do
      kill -0 -- "-$child" 2>/dev/null || break
      sleep 0.2
    done
    kill -KILL -- "-$child" 2>/dev/null || true
    wait "$child" 2>/dev/null || true
  fi
  cleanup
  exit "$code"
}
cleanup() { :; }
trap on_exit EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

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
free_ports() {
  python3 - "$1" <<'PYTHON'
import socket, sys
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(int(sys.argv[1]))]
print(*(s.getsockname()[1] for s in sockets), sep="\n")
PYTHON
}
