#!/usr/bin/env bash
# Drives production instances with a real Chromium: names and certificates as on the internet, unmodified SDKs that
# know keys and the URL of the Backend API and nothing else. Run it under with-certificates.sh and
# scripts/with-server.sh; pictures are kept in ../output/. Arguments are test files; with --smoke, only the tests marked
# `isSmoke` run: signing up, in and out, a renewed token, a handshake, a satellite and a hosted page.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "$0")/../../../scripts/lib.sh"
cd "$(dirname "$0")"

next=
cleanup() {
  if [[ -n $next ]]; then
    kill -TERM "$next" 2>/dev/null || true
  fi
}

field() { python3 -c 'import json, sys; print(json.loads(sys.argv[1])[sys.argv[2]])' "$1" "$2"; }
instance() { "$LATCHKEY_BIN" instances create --environment production --frontend-api "$1" --json; }

acme=$(instance clerk.acme.co.uk)
CLERK_SECRET_KEY=$(field "$acme" secret_key)
CLERK_PUBLISHABLE_KEY=$(field "$acme" publishable_key)
LATCHKEY_INSTANCE_ID=$(field "$acme" instance_id)
stage=$(instance clerk.stage.acme.co.uk)
STAGE_SECRET_KEY=$(field "$stage" secret_key)
STAGE_PUBLISHABLE_KEY=$(field "$stage" publishable_key)
export CLERK_SECRET_KEY CLERK_PUBLISHABLE_KEY LATCHKEY_INSTANCE_ID STAGE_SECRET_KEY STAGE_PUBLISHABLE_KEY

# 30 seconds is the shortest life of a token there is.
"$LATCHKEY_BIN" settings set --instance "$LATCHKEY_INSTANCE_ID" \
  test_mode=true session.token_lifetime_seconds=30 'satellites=[{"name": "acme-shop.net"}]' \
  attributes.passkey.enabled=true 'attributes.email_address.first_factors=["email_code","email_link"]'

# Nobody signs up there but by the waitlist.
"$LATCHKEY_BIN" settings set --instance "$(field "$stage" instance_id)" sign_up.mode=waitlist

# The SDKs would report to their makers.
export CLERK_TELEMETRY_DISABLED=1 NEXT_PUBLIC_CLERK_TELEMETRY_DISABLED=1 NEXT_TELEMETRY_DISABLED=1
CHROMIUM=${CHROMIUM:-$(command -v chromium)}
export CHROMIUM

rm -f ../output/{,failed-}production-*.png
../node_modules/.bin/vite build ../app

export CLERK_API_URL=$LATCHKEY_URL NEXT_PUBLIC_CLERK_PUBLISHABLE_KEY=$CLERK_PUBLISHABLE_KEY
tests=(../../../scripts/file_tests.py node --concurrency 3 --tries-inside)
port=$(free_ports 1)
# By its name: Next.js rewrites the address, and then takes its own pages for somebody else's.
export NEXT_URL=http://localhost:$port
if [[ ${1:-} == --smoke ]]; then
  # None of these tests opens the application made with Next.js, which takes long to build.
  export BROWSER_SMOKE=1
  mapfile -t files < <(grep -l isSmoke -- *.test.js)
  run "${tests[@]}" "${files[@]}"
  exit
fi
../node_modules/.bin/next build next
node ../node_modules/next/dist/bin/next start next --hostname localhost --port "$port" &
next=$!

# Components fetch the pictures of wallets from their maker, which the other tests do not let pass: wallets come last.
last=()
if [[ $# -eq 0 ]]; then
  last=(wallets.test.js)
  for file in *.test.js; do
    [[ $file == "${last[0]}" ]] || set -- "$@" "$file"
  done
fi
code=0
run "${tests[@]}" "$@" || code=$?
if [[ ${#last[@]} -gt 0 ]]; then
  run "${tests[@]}" "${last[@]}" || code=$?
fi
exit "$code"
