#!/usr/bin/env bash
# A throw-away PostgreSQL cluster in a directory of its own.
#
#   scripts/postgres.sh start DIR [--fast]   prints the URL of its database
#   scripts/postgres.sh stop DIR             stops it and deletes DIR
#
# It listens on a free loopback port only and trusts whoever connects. --fast gives up durability
# (fsync) for speed; leave it out where a crash is the subject.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "$0")/lib.sh"

bin=$(postgres_bin) || die "No PostgreSQL server is installed; scripts/deps.sh installs one."

# PostgreSQL refuses to run as root.
as_postgres() {
  if [[ $EUID -eq 0 ]]; then
    (cd / && runuser -u postgres -- "$@")
  else
    "$@"
  fi
}

# A quarter of the memory, as PostgreSQL's manual advises, and no more than a million users need. What it
# comes with is meant to start anywhere.
shared_buffers() {
  awk '/^MemTotal/ { mb = int($2 / 4096); print (mb > 1024 ? 1024 : mb) "MB" }' /proc/meminfo
}

start() {
  local dir=$1 port settings
  case ${2:-} in
    '') settings="fsync=on -c max_wal_size=4GB -c shared_buffers=$(shared_buffers)" ;;
    --fast) settings='fsync=off -c synchronous_commit=off -c full_page_writes=off' ;;
    *) die "Unknown option $2" ;;
  esac
  if [[ $EUID -eq 0 ]]; then
    chown postgres: "$dir"
  fi
  # A language-aware collation, as most installations have one: what silently depends on the order
  # of bytes fails here.
  as_postgres "$bin/initdb" --pgdata="$dir/data" --username=postgres --auth=trust --encoding=UTF8 \
    --locale=C.UTF-8 --locale-provider=icu --icu-locale=en-US --no-sync >"$dir/initdb.log" ||
    die "$(cat "$dir/initdb.log")"
  port=$(free_ports 1)
  as_postgres "$bin/pg_ctl" start --wait --silent --pgdata="$dir/data" --log="$dir/data/server.log" \
    --options="-p $port -h 127.0.0.1 -c unix_socket_directories= -c max_connections=300 -c $settings" >&2 ||
    die "$(cat "$dir/data/server.log")"
  printf 'postgres://postgres@127.0.0.1:%s/postgres\n' "$port"
}

stop() {
  local dir=$1
  if [[ -f $dir/data/postmaster.pid ]]; then
    as_postgres "$bin/pg_ctl" stop --wait --silent --mode=immediate --pgdata="$dir/data" >&2 || true
  fi
  rm -rf "$dir"
}

case ${1:-} in
  start | stop) "$1" "${2:?the directory is missing}" "${@:3}" ;;
  *) die "usage: scripts/postgres.sh start DIR [--fast] | stop DIR" ;;
esac
