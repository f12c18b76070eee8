#!/usr/bin/env bash
# The life of the package in an empty root, for who is not root: dpkg unpacks, configures, removes and purges, and the
# program is started with the configuration that was installed. Run by run.sh.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "$0")/../../scripts/lib.sh"
# shellcheck source=tests/package/scripts.sh
source "$(dirname "$0")/scripts.sh"

machine=$SCRATCH/machine
mkdir -p "$machine"/var/lib/dpkg/{info,updates,triggers}
touch "$machine"/var/lib/dpkg/{status,available}
dpkg_there() {
  PATH=$PATH:/usr/sbin:/sbin dpkg --root="$machine" --log=/dev/null --force-script-chrootless --force-not-root --force-depends "$@"
}
is() { [[ $1 == "$2" ]] || die "$3: $1 instead of $2"; }

say "install"
dpkg_there -i "$PACKAGE"
is "$(stat -c %a "$machine/etc/latchkey/latchkey.toml")" 640 "the configuration"

say "start"
data=$SCRATCH/data
start env LATCHKEY_LISTEN="$LISTEN" LATCHKEY_FRONTEND_LISTEN="$FRONTEND_LISTEN" LATCHKEY_DATA_DIR="$data" \
  "$machine/usr/bin/latchkey" serve --config "$machine/etc/latchkey/latchkey.toml" >/dev/null
for _ in {1..150}; do
  [[ $(curl -s "http://$LISTEN/readyz") == ready ]] && break
  sleep 0.2
done
is "$(curl -s "http://$LISTEN/readyz")" ready "readiness"
check_scripts "$FRONTEND_LISTEN"
kill -TERM -- "-$started"
await "$started"

say "remove and purge"
echo '# ours' >>"$machine/etc/latchkey/latchkey.toml"
dpkg_there -r latchkey
is "$(tail -n 1 "$machine/etc/latchkey/latchkey.toml")" "# ours" "the configuration"
dpkg_there -P latchkey
is "$(find "$machine" -name '*latchkey*')" "" "what stays"
say "the package was installed, started, removed and purged"
