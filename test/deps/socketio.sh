#!/usr/bin/env bash
# Installs the published Socket.IO client. Returns at once if it is installed.
set -euo pipefail
package=socket.io-client
version=4.8.1
dir=${XDG_CACHE_HOME:-$HOME/.cache}/deft-deps/socketio

grep -qs "\"version\": \"$version\"" "$dir/node_modules/$package/package.json" && exit 0

if ! command -v npm >/dev/null || ! command -v node >/dev/null; then
    echo "deps: node and npm are missing; the test with the Socket.IO client needs them" >&2
    [[ ${CI:-} == true ]] && exit 1
    exit 0
fi

echo "deps: installing the Socket.IO client in $dir (about 4 MB, some seconds)"
mkdir -p "$dir"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! npm --prefix "$dir" install --no-audit --no-fund --ignore-scripts "$package@$version" >"$log" 2>&1; then
    tail -n 5 "$log" >&2
    echo "deps: the npm package could not be installed; is the registry reachable? Then: make deps" >&2
    [[ ${CI:-} == true ]] && exit 1
    exit 0
fi
