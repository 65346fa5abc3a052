#!/usr/bin/env bash
# Runs the web app's linter and unit tests. Its tests in a browser are in test/web.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [[ ! -d node_modules ]]; then
    echo "web: the npm packages are not installed: make deps" >&2
    [[ ${CI:-} == true ]] && exit 1
    exit 0
fi
npm run --silent lint
npm run --silent test
