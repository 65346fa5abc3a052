#!/usr/bin/env bash
# Installs the mock LLM servers that test/llmmocks runs, as package-lock.json
# says. Returns at once if they are installed.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=${XDG_CACHE_HOME:-$HOME/.cache}/deft-deps/llmmocks

# The lock file is copied last, so an interrupted installation is repeated.
cmp -s "$here/package-lock.json" "$dir/installed.json" && exit 0

if ! command -v npm >/dev/null || ! command -v node >/dev/null; then
    echo "deps: node and npm are missing; tests against mock LLM servers need them" >&2
    [[ ${CI:-} == true ]] && exit 1
    exit 0
fi

echo "deps: installing mock LLM servers in $dir (about 45 MB, ten seconds)"
mkdir -p "$dir"
rm -f "$dir/installed.json"
cp "$here/package.json" "$here/package-lock.json" "$dir/"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! npm --prefix "$dir" ci --no-audit --no-fund --ignore-scripts >"$log" 2>&1; then
    tail -n 5 "$log" >&2
    echo "deps: the npm packages could not be installed; is the registry reachable? Then: make deps" >&2
    [[ ${CI:-} == true ]] && exit 1
    exit 0
fi
cp "$here/package-lock.json" "$dir/installed.json"
