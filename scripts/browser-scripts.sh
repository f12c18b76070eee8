#!/usr/bin/env bash
# Unpacks the browser scripts of packaging/browser-scripts.txt into a folder: scripts/browser-scripts.sh FOLDER. The folder
# is made anew. The server serves it by default where it is ../share/latchkey/browser-scripts beside the program's folder,
# and otherwise by the setting scripts_dir.
#
# Archives are fetched once with the npm client and kept in target/browser-scripts. Each must have the digest of the list.
# Only what browsers load is unpacked, with the licence (MIT) and the manifest, which names the version.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "$0")/lib.sh"
cd "$root"

[[ $# -eq 1 ]] || die "usage: scripts/browser-scripts.sh FOLDER"
folder=$1
list=packaging/browser-scripts.txt
archives=${CARGO_TARGET_DIR:-target}/browser-scripts
mkdir -p "$archives" "$(dirname "$folder")"
work=$(mktemp -d "$folder.XXXXXX")
cleanup() { rm -rf "$work"; }
chmod 755 "$work"

# Whether a file has a digest that is written as in the list.
has_digest() {
  local wanted
  wanted=$(base64 -d <<<"${2#sha512-}" | od -An -v -tx1 | tr -d ' \n')
  [[ $2 == sha512-* && $(sha512sum <"$1") == "$wanted  -" ]]
}

# Fetches an archive beside the others. It gets its name last, so that no half of one stays.
fetch() {
  local package=$1 archive=$2 name
  command -v npm >/dev/null || die "npm is missing: it fetches $package. Install it, or put the archive to $archive."
  say "Fetching $package"
  name=$(npm pack --silent --pack-destination "$work" "$package") || die "npm could not fetch $package."
  mv "$work/$name" "$archive"
}

while read -r name version integrity; do
  archive=$archives/$(basename "$name")-$version.tgz
  [[ -f $archive ]] || fetch "$name@$version" "$archive"
  if ! has_digest "$archive" "$integrity"; then
    mv "$archive" "$archive.rejected"
    die "$name $version has not the digest that $list names. The archive is now $archive.rejected."
  fi
  package=$work/$name@${version%%.*}
  mkdir -p "$package"
  files=(package/package.json package/LICENSE 'package/dist/*.browser*.js')
  # The parts of @clerk/ui that its scripts load later are not named after browsers.
  [[ $name != @clerk/ui ]] || files+=('package/dist/*_ui_*.js')
  tar -xzf "$archive" -C "$package" --strip-components=1 --wildcards --no-wildcards-match-slash "${files[@]}"
done < <(grep -v '^#' "$list")
# Archives of npm have no useful modes.
chmod -R u=rwX,go=rX "$work"
rm -rf "$folder"
mv "$work" "$folder"
