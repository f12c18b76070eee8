#!/usr/bin/env bash
# Builds the test application and drives it, and the server's own pages, with a real Chromium. Run it
# under scripts/with-server.sh; the pictures it takes are kept in output/. Arguments are test files; with --smoke, only
# the tests marked `isSmoke` run: signing up, in and out, tokens, an organization and a hosted page.
# What needs names and TLS of its own is in production/.
set -euo pipefail
cd "$(dirname "$0")"

# Email links and passkeys are off by default.
"$LATCHKEY_BIN" settings set --instance "$LATCHKEY_INSTANCE_ID" attributes.passkey.enabled=true \
  'attributes.email_address.first_factors=["email_code","email_link"]'

# The SDKs would report to their makers.
export CLERK_TELEMETRY_DISABLED=1
CHROMIUM=${CHROMIUM:-$(command -v chromium)}
export CHROMIUM

rm -rf output
./node_modules/.bin/vite build app
if [[ ${1:-} == --smoke ]]; then
  export BROWSER_SMOKE=1
  mapfile -t files < <(grep -l isSmoke -- *.test.js)
  set -- "${files[@]}"
fi
exec ../../scripts/file_tests.py node --concurrency 3 --tries-inside "$@"
