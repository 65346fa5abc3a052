#!/usr/bin/env bash
# Installs the published JavaScript clients that test/interop uses, and the Node
# that runs them, as package-lock.json says. Returns at once if they are
# installed.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=${XDG_CACHE_HOME:-$HOME/.cache}/deft-deps/interop

# The page is fetched separately: one of its dependencies was never published, so
# npm cannot install it. The built page needs none of them.
page=@openhands/agent-canvas@1.20.0
sum=sha512-uq28bmdMapsDN0ltp5ZHYm9xfuk7cHktNkd0NY38w/UTq25wJTqSKSPya+2+ky0+HpGX2vmn0uF3mHuNCoOb2w==

stamp=$(cat "$here/package-lock.json" && echo "$page $sum")
# The stamp is written last, so an interrupted installation is repeated.
[[ -f $dir/installed && $(<"$dir/installed") == "$stamp" ]] && exit 0

give_up() {
    echo "deps: $1" >&2
    [[ ${CI:-} == true ]] && exit 1
    exit 0
}
if ! command -v npm >/dev/null || ! command -v node >/dev/null; then
    give_up "node and npm are missing; tests with the JavaScript clients need them"
fi

echo "deps: installing the JavaScript clients in $dir (about 260 MB, half a minute)"
mkdir -p "$dir"
rm -rf "$dir/installed" "$dir/canvas"
cp "$here/package.json" "$here/package-lock.json" "$dir/"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
cd "$dir"
if ! npm ci --no-audit --no-fund --ignore-scripts >"$log" 2>&1 ||
    ! archive=$(npm pack --silent --ignore-scripts "$page" 2>"$log"); then
    tail -n 5 "$log" >&2
    give_up "the npm packages could not be installed; is the registry reachable? Then: make deps"
fi
if [[ sha512-$(openssl dgst -sha512 -binary "$archive" | base64 -w0) != "$sum" ]]; then
    give_up "$page does not match the pinned checksum"
fi
mkdir canvas
tar -xzf "$archive" -C canvas --strip-components 1
rm "$archive"
echo "$stamp" >installed
