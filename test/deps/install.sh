#!/usr/bin/env bash
# Installs the outside parts that tests need. Says what it does; does nothing,
# quickly, when everything is there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
./go.sh
./debian.sh
./openhands.sh
./mcp.sh
../llmmocks/install.sh
../interop/install.sh
../openapi/install.sh
