#!/usr/bin/env bash
# Makes the Debian package of LATCHKEY_BIN, checks its systemd unit, and installs, starts, upgrades, removes and purges it
# with dpkg. That happens in a copy of this machine's file system that forgets what is written (an overlay in a mount
# namespace), which needs root; without it, in an empty root, where no user is made.
#
# Not covered: that systemd itself starts the unit. Its command is run as its user instead.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "$0")/../../scripts/lib.sh"
cd "$root"

scratch=$(mktemp -d)
cleanup() { rm -rf "$scratch"; }
unit=packaging/latchkey.service

package=$(DEB_COMPRESSION=none packaging/deb.sh "$LATCHKEY_BIN" "$scratch")

grep -qx 'LimitCORE=0' "$unit" || die "The unit allows core dumps, which contain the master key."
grep -qx 'CapabilityBoundingSet=' "$unit" && ! grep -q '^AmbientCapabilities' "$unit" ||
  die "The unit has a capability that the default ports do not need."

if command -v systemd-analyze >/dev/null; then
  # Verified in a root that has the program; only what is said about our unit counts.
  dpkg-deb -x "$package" "$scratch/files"
  mkdir -p "$scratch/files/etc/systemd/system"
  complaints=$(systemd-analyze verify --man=no --root="$scratch/files" "$scratch/files/usr/lib/systemd/system/latchkey.service" 2>&1 |
    grep 'latchkey.service' | grep -v 'Failed to .* dependency\|not found' || true)
  [[ -z $complaints ]] || die "systemd-analyze verify: $complaints"
  # 0 is locked in entirely, 100 not at all; a unit without any of the options has 96.
  systemd-analyze security --offline=true --threshold=20 --no-pager "$unit" >"$scratch/security" ||
    die "The unit is less locked in than it was: $(tail -n 1 "$scratch/security")"
  tail -n 1 "$scratch/security"
else
  say "There is no systemd-analyze: the unit was not verified."
fi

mapfile -t ports < <(free_ports 2)
export PACKAGE=$package LISTEN=127.0.0.1:${ports[0]} FRONTEND_LISTEN=127.0.0.1:${ports[1]} SCRATCH=$scratch
if [[ $EUID -eq 0 ]] && unshare --mount true 2>/dev/null; then
  run unshare --mount tests/package/installed.sh
else
  say "This is not root: the package is installed into an empty root, without its user."
  run tests/package/unprivileged.sh
fi
