#!/usr/bin/env bash
# Installs the external programs and packages that tests need. Returns at once if
# they are installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
./go.sh
./debian.sh
./gvisor.sh
./forges.sh
./docker.sh
./postgres.sh
./openhands.sh
./mcp.sh
./socketio.sh
../llmmocks/install.sh
../interop/install.sh
../../web/scripts/install.sh
../openapi/install.sh
