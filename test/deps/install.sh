#!/usr/bin/env bash
# Installs the external programs and packages that tests need, side by side, and says how
# long each part took. A part whose version is installed returns at once.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
./go.sh
./cannot.sh # before anything that takes long
./debian.sh

pids=()
# part runs scripts one after another, beside the other parts. One that says something has
# installed something.
part() {
    (
        for script in "$@"; do
            SECONDS=0
            "$script" 2>&1 | {
                lines=0
                while IFS= read -r line; do
                    echo "$line"
                    lines=1
                done
                if ((lines)); then echo "deps: $script took $SECONDS s"; fi
            } || exit 1
        done
    ) &
    pids+=($!)
}
part ./gvisor.sh ./docker.sh # the engine runs gVisor
part ./gitea.sh
part ./openhands.sh ../openapi/install.sh
part ./forges.sh ./mcp.sh ../llmmocks/install.sh
part ../interop/install.sh
part ../../web/scripts/install.sh
part ./postgres.sh
failed=0
for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
exit $failed
