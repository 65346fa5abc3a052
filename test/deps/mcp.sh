#!/usr/bin/env bash
# Installs a third-party MCP server. Returns at once if it is installed.
set -euo pipefail
package=@modelcontextprotocol/server-everything
version=2026.8.31
dir=${XDG_CACHE_HOME:-$HOME/.cache}/deft-deps/mcp

grep -qs "\"version\": \"$version\"" "$dir/node_modules/$package/package.json" && exit 0

if ! command -v npm >/dev/null || ! command -v node >/dev/null; then
    echo "deps: node and npm are missing; a test against a third-party MCP server needs them" >&2
    [[ ${CI:-} == true ]] && exit 1
    exit 0
fi

echo "deps: installing an MCP server in $dir (about 30 MB, ten seconds)"
mkdir -p "$dir"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! npm --prefix "$dir" install --no-audit --no-fund --ignore-scripts "$package@$version" >"$log" 2>&1; then
    tail -n 5 "$log" >&2
    echo "deps: the npm package could not be installed; is the registry reachable? Then: make deps" >&2
    [[ ${CI:-} == true ]] && exit 1
    exit 0
fi
