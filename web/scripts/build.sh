#!/usr/bin/env bash
# Builds the web app into web/dist, unless that is newer than its sources.
# Without npm the binary gets a page that says so; with CI=true that is an error.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if ! command -v npm >/dev/null; then
    echo "web: npm is missing; Deft is built without its web app" >&2
    [[ ${CI:-} == true ]] && exit 1
    exit 0
fi
scripts/install.sh
sources=(src public scripts index.html package-lock.json package.json tsconfig.json vite.config.ts
    ../server/agentserver/openapi/contract.json.gz)
if [[ -f dist/index.html ]] && [[ -z $(find "${sources[@]}" -newer dist/index.html -type f -not -path '*/generated/*' -print -quit) ]]; then
    exit 0
fi
echo "web: building the web app"
npm run --silent build
