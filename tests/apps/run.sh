#!/usr/bin/env bash
# Builds and starts a small application of each framework, from the published packages, with nothing in its environment
# but what `latchkey env` prints, and drives them with a real Chromium: over plain http, and over https at the host that
# the publishable key names. Run it under scripts/with-server.sh --trusted; the pictures it takes are kept in
# ../browser/output/. Arguments are applications with the way they reach the server, such as 'vue trusted'.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "$0")/../../scripts/lib.sh"
cd "$(dirname "$0")"

# The shortest life of a token there is.
"$LATCHKEY_BIN" settings set --instance "$LATCHKEY_INSTANCE_ID" session.token_lifetime_seconds=30

CHROMIUM=${CHROMIUM:-$(command -v chromium)}
export CHROMIUM

# The environment of an application, a variable per line. The arguments are for `latchkey env`.
environment() {
  "$LATCHKEY_BIN" env "$@" --json | python3 -c '
import json, sys
for name, value in json.load(sys.stdin).items():
    print(f"{name}={value}")'
}

# Builds and starts an application: its folder, which is named as in `latchkey env`, the way it reaches the server, and
# its port.
application() {
  local folder=$1 way=$2 port=$3 dist=dist/$2 variables
  local flags=()
  if [[ $way == plain ]]; then
    flags=(--plain)
  fi
  variables=$(environment "$folder" "${flags[@]}")
  mapfile -t variables <<<"$variables"
  local node=(env -i PATH="$PATH" HOME="$HOME" NEXT_TELEMETRY_DISABLED=1 ASTRO_TELEMETRY_DISABLED=1 "${variables[@]}")
  case $folder in
    next)
      node+=(node node_modules/next/dist/bin/next)
      "${node[@]}" build next
      exec "${node[@]}" start next --hostname localhost --port "$port"
      ;;
    astro)
      "${node[@]}" node node_modules/astro/astro.js build --silent --root astro --outDir "$dist"
      exec "${node[@]}" HOST=localhost PORT="$port" node "astro/$dist/server/entry.mjs"
      ;;
    fastify)
      exec "${node[@]}" PORT="$port" node fastify/server.js
      ;;
    vue | react-5)
      node+=(node node_modules/vite/bin/vite.js)
      "${node[@]}" build "$folder" --outDir "$dist"
      exec "${node[@]}" preview "$folder" --outDir "$dist" --host localhost --port "$port" --strictPort
      ;;
  esac
}

# Over plain http all of them, and over https those whose SDKs have no variable for anything else.
names=("$@")
if [[ $# -eq 0 ]]; then
  names=({next,astro,fastify,vue,react-5}' plain' {fastify,vue,react-5}' trusted')
fi
mapfile -t ports < <(free_ports ${#names[@]})
APPLICATIONS=
for index in "${!names[@]}"; do
  read -r folder way <<<"${names[index]}"
  start application "$folder" "$way" "${ports[index]}"
  APPLICATIONS+="$folder $way ${ports[index]}"$'\n'
done
export APPLICATIONS

code=0
run "$root/scripts/file_tests.py" node --tries-inside applications.test.js || code=$?
exit "$code"
