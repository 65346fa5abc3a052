#!/usr/bin/env bash
# Installs the packages of package-lock.json into web/node_modules. Returns at
# once if they are installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
stamp=node_modules/.installed
[[ -f $stamp ]] && cmp -s package-lock.json $stamp && exit 0
if ! command -v npm >/dev/null; then
    echo "web: npm is missing; it builds and tests the web app" >&2
    [[ ${CI:-} == true ]] && exit 1
    exit 0
fi
echo "web: installing packages in web/node_modules (about 270 MB)"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# No package of ours needs its install script.
if ! npm ci --no-audit --no-fund --ignore-scripts >"$log" 2>&1; then
    tail -n 5 "$log" >&2
    echo "web: the npm packages could not be installed; is the registry reachable?" >&2
    exit 1
fi
cp package-lock.json $stamp
