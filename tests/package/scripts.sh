# Shared by the tests of the package; source it, do not run it.
# shellcheck shell=bash

# The installed server, without any setting, serves each browser script of the list itself: at the version, at the major
# version that SDKs ask for, and with its licence in the package.
check_scripts() {
  local name version integrity asked file answer
  while read -r name version integrity; do
    [[ $integrity == sha512-* ]] || die "$name $version has no digest in the list."
    file=dist/clerk.browser.js
    [[ $name != @clerk/ui ]] || file=dist/ui.browser.js
    for asked in "$version" "${version%%.*}"; do
      answer=$(curl -s -o "$SCRATCH/script.js" -w '%{http_code} %{content_type}' "http://$1/npm/$name@$asked/$file")
      is "$answer" "200 text/javascript; charset=utf-8" "$name@$asked"
      [[ $(wc -c <"$SCRATCH/script.js") -gt 50000 ]] || die "$name@$asked is no browser script."
    done
    grep -q "$version" "$SCRATCH/script.js" || die "$name@$version is another version."
    grep -q 'MIT License' "$machine/usr/share/latchkey/browser-scripts/$name@${version%%.*}/LICENSE" ||
      die "$name@$version has no licence."
  done < <(grep -v '^#' packaging/browser-scripts.txt)
}
