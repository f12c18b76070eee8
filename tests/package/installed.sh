#!/usr/bin/env bash
# The life of the package on a machine, as root in a mount namespace of its own: what is written disappears with it.
# Run by run.sh.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "$0")/../../scripts/lib.sh"
# shellcheck source=tests/package/scripts.sh
source "$(dirname "$0")/scripts.sh"

mount --make-rprivate /
# An overlay cannot keep its changes on another overlay, which the file system of a container is.
mkdir "$SCRATCH/layers"
mount -t tmpfs none "$SCRATCH/layers"
mkdir "$SCRATCH"/layers/{upper,work,machine}
machine=$SCRATCH/layers/machine
mount -t overlay overlay -o "lowerdir=/,upperdir=$SCRATCH/layers/upper,workdir=$SCRATCH/layers/work" "$machine"
mount --rbind /dev "$machine/dev"
mount -t proc proc "$machine/proc"
install -m 644 "$PACKAGE" "$machine/var/cache/latchkey.deb"

there=(chroot "$machine" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive)
inside() { "${there[@]}" "$@"; }
# What the unit starts, as who it starts it. Each of these commands becomes the next, so a signal reaches the server.
read -ra service <<<"$(sed -n 's/^ExecStart=//p' packaging/latchkey.service)"
service=("${there[@]}" LATCHKEY_LISTEN="$LISTEN" LATCHKEY_FRONTEND_LISTEN="$FRONTEND_LISTEN"
  setpriv --reuid=latchkey --regid=latchkey --clear-groups --no-new-privs "${service[@]}")

is() { [[ $1 == "$2" ]] || die "$3: $1 instead of $2"; }
look() { stat -c '%a %U:%G' "$machine$1" 2>/dev/null || echo none; }
owner() { inside stat -c '%a %U:%G' "$1"; }

serve_once() {
  start "${service[@]}" >"$SCRATCH/out" 2>"$SCRATCH/err"
  for _ in {1..150}; do
    [[ $(curl -s "http://$LISTEN/readyz") == ready ]] && break
    kill -0 "$started" 2>/dev/null || die "The server ended: $(cat "$SCRATCH/err")"
    sleep 0.2
  done
  is "$(curl -s "http://$LISTEN/readyz")" ready "readiness"
  is "$(curl -s -o /dev/null -w '%{http_code}' "http://$FRONTEND_LISTEN/sign-in")" 200 "the sign-in page"
  check_scripts "$FRONTEND_LISTEN"
  "$@"
  kill -TERM -- "-$started"
  await "$started" || die "The server did not end in order: $(tail -n 3 "$SCRATCH/err")"
}

say "install"
inside dpkg -i /var/cache/latchkey.deb
is "$(owner /etc/latchkey/latchkey.toml)" "640 root:latchkey" "the configuration"
is "$(owner /var/lib/latchkey)" "700 latchkey:latchkey" "the data directory"
is "$(inside dpkg-query -W -f '${Status}' latchkey)" "install ok installed" "the package"
is "$(basename "$(readlink "$machine/etc/systemd/system/multi-user.target.wants/latchkey.service")")" \
  latchkey.service "the unit that is enabled"
inside dpkg --verify latchkey

say "start"
create_user() {
  key=$(sed -n 's/.*secret key *\(sk_test_[A-Za-z0-9]*\).*/\1/p' "$SCRATCH/out")
  curl -sf "http://$LISTEN/v1/users" -H "Authorization: Bearer $key" -H 'Content-Type: application/json' \
    -d '{"email_address": ["ada@example.com"]}' >/dev/null || die "No user could be created."
}
serve_once create_user
is "$(owner /var/lib/latchkey/latchkey.db | cut -d ' ' -f 2)" "latchkey:latchkey" "the database"
is "$(owner /var/lib/latchkey/master.key)" "600 latchkey:latchkey" "the master key"

say "upgrade: what was changed and written stays"
echo '# ours' >>"$machine/etc/latchkey/latchkey.toml"
inside dpkg -i /var/cache/latchkey.deb
is "$(tail -n 1 "$machine/etc/latchkey/latchkey.toml")" "# ours" "the configuration"
count_users() {
  is "$(curl -s "http://$LISTEN/v1/users/count" -H "Authorization: Bearer $key")" \
    '{"object":"total_count","total_count":1}' "the users"
}
serve_once count_users

say "upgrade: modes of the administrator stay, and a configuration that was deleted is no failure"
inside chmod 0600 /etc/latchkey/latchkey.toml
inside chmod 0750 /var/lib/latchkey
inside dpkg -i /var/cache/latchkey.deb
is "$(owner /etc/latchkey/latchkey.toml)" "600 root:latchkey" "the configuration"
is "$(owner /var/lib/latchkey)" "750 latchkey:latchkey" "the data directory"
inside mv /etc/latchkey/latchkey.toml /var/cache/latchkey.toml
inside dpkg -i /var/cache/latchkey.deb
is "$(look /etc/latchkey/latchkey.toml)" none "the configuration that was deleted"
inside mv /var/cache/latchkey.toml /etc/latchkey/latchkey.toml

say "remove: configuration and data stay"
inside dpkg -r latchkey
is "$(look /usr/bin/latchkey)" none "the program"
[[ -f $machine/var/lib/latchkey/latchkey.db && -f $machine/etc/latchkey/latchkey.toml ]] || die "Something is gone."

say "purge: nothing stays"
inside dpkg -P latchkey
for path in /usr/bin/latchkey /etc/latchkey /var/lib/latchkey /usr/share/doc/latchkey /usr/share/latchkey \
  /etc/systemd/system/multi-user.target.wants/latchkey.service /etc/systemd/system/latchkey.service; do
  is "$(look "$path")" none "$path"
done
is "$(inside getent passwd latchkey || echo none)" none "the user"
say "the package was installed, started, upgraded, removed and purged"
