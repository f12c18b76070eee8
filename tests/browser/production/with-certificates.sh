#!/usr/bin/env bash
# Runs a command with a certificate authority made for it.
#
#   tests/browser/production/with-certificates.sh COMMAND…
#
# One certificate is for all names of the tests and for 127.0.0.1. Latchkey speaks TLS with it on both listeners,
# the server, Node and curl trust the authority, and so does a Chromium whose HOME is CHROMIUM_HOME. The command also finds the
# certificate in TEST_CERTIFICATE and TEST_KEY. Everything is deleted afterwards.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "$0")/../../../scripts/lib.sh"
[[ $# -gt 0 ]] || die "usage: tests/browser/production/with-certificates.sh COMMAND…"

names=DNS:acme.co.uk,DNS:*.acme.co.uk,DNS:*.stage.acme.co.uk,DNS:acme-shop.net,DNS:*.acme-shop.net,DNS:evil.example

mkdir -p "$root/.test"
dir=$(mktemp -d "$root/.test/certificates.XXXXXX")
cleanup() { rm -rf "$dir"; }

# A certificate and its key; the further arguments are for openssl.
certificate() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -sha256 \
    -subj "/CN=$1" -out "$dir/$2.pem" -keyout "$dir/$2.key" "${@:3}" 2>"$dir/openssl.log" ||
    die "$(cat "$dir/openssl.log")"
}
certificate 'Latchkey test authority' authority \
  -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign
certificate 'Latchkey test server' server -CA "$dir/authority.pem" -CAkey "$dir/authority.key" \
  -addext basicConstraints=critical,CA:FALSE -addext "subjectAltName=$names,IP:127.0.0.1"

# Chromium trusts what the NSS database of its user does.
export CHROMIUM_HOME=$dir/home
mkdir -p "$CHROMIUM_HOME/.pki/nssdb"
certutil -d "sql:$CHROMIUM_HOME/.pki/nssdb" -N --empty-password
certutil -d "sql:$CHROMIUM_HOME/.pki/nssdb" -A -n authority -t C,, -i "$dir/authority.pem"

export NODE_EXTRA_CA_CERTS=$dir/authority.pem CURL_CA_BUNDLE=$dir/authority.pem SSL_CERT_FILE=$dir/authority.pem
export TEST_CERTIFICATE=$dir/server.pem TEST_KEY=$dir/server.key
export LATCHKEY_TLS_CERTIFICATE=$TEST_CERTIFICATE LATCHKEY_TLS_KEY=$TEST_KEY
export LATCHKEY_FRONTEND_TLS_CERTIFICATE=$TEST_CERTIFICATE LATCHKEY_FRONTEND_TLS_KEY=$TEST_KEY

code=0
run "$@" || code=$?
exit "$code"
