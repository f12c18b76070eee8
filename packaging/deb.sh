#!/usr/bin/env bash
# Makes the Debian package of a program that was built: packaging/deb.sh PROGRAM FOLDER. Needs dpkg-deb, and npm to fetch
# the browser scripts once (scripts/browser-scripts.sh); not even root. DEB_COMPRESSION=none is for tests, which pack a large program and unpack it at once.
#
# The package: the program, the browser scripts, a systemd unit, the configuration, and the user that the service runs as.
set -euo pipefail
cd "$(dirname "$0")/.."

program=$1
folder=$2
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
architecture=$(dpkg --print-architecture)
# The newest version of a symbol that the program asks of the C library is the oldest library it runs with.
libc=$(grep -aoE 'GLIBC_2\.[0-9]+' "$program" | sort -uV | tail -n 1)

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
chmod 755 "$tree"

install -D -m 755 "$program" "$tree/usr/bin/latchkey"
install -D -m 644 packaging/latchkey.service "$tree/usr/lib/systemd/system/latchkey.service"
install -D -m 640 packaging/latchkey.toml "$tree/etc/latchkey/latchkey.toml"
install -D -m 644 -t "$tree/usr/share/doc/latchkey" README.md CHANGELOG.md SECURITY.md CONTRIBUTING.md Dockerfile
install -D -m 644 -t "$tree/usr/share/doc/latchkey/docs" docs/*.md
install -D -m 644 -t "$tree/usr/share/doc/latchkey/docs/images" docs/images/*.png
scripts=usr/share/latchkey/browser-scripts
scripts/browser-scripts.sh "$tree/$scripts"
install -D -m 644 LICENSE "$tree/usr/share/doc/latchkey/copyright"
for script in "$tree/$scripts"/@clerk/*; do
  printf '\n--- /%s has a licence of its own:\n\n' "${script#"$tree/"}"
  cat "$script/LICENSE"
done >>"$tree/usr/share/doc/latchkey/copyright"
ln -s copyright "$tree/usr/share/doc/latchkey/LICENSE"

install -d "$tree/DEBIAN"
install -m 755 packaging/{postinst,prerm,postrm} "$tree/DEBIAN"
echo /etc/latchkey/latchkey.toml >"$tree/DEBIAN/conffiles"
cat >"$tree/DEBIAN/control" <<CONTROL
Package: latchkey
Version: $version
Architecture: $architecture
Maintainer: The Latchkey developers <latchkey@localhost>
Depends: libc6 (>= ${libc#GLIBC_}), libgcc-s1, adduser, ca-certificates
Section: net
Priority: optional
Installed-Size: $(du -sk --exclude=DEBIAN "$tree" | cut -f 1)
Description: self-hosted identity server that speaks the Clerk APIs
 Users, sessions, sign-in pages, webhooks: one program on an embedded SQLite, or
 on PostgreSQL. The official Clerk SDKs work against it unmodified.
CONTROL
(cd "$tree" && find . -path ./DEBIAN -prune -o -type f -print0 | sort -z | xargs -0 md5sum | sed 's| \./| |') \
  >"$tree/DEBIAN/md5sums"

mkdir -p "$folder"
package=$folder/latchkey_${version}_$architecture.deb
dpkg-deb --root-owner-group "-Z${DEB_COMPRESSION:-xz}" --build "$tree" "$package" >&2
echo "$package"
