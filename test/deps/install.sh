#!/usr/bin/env bash
# Installs the external programs and packages that tests need, side by side, and says how
# long each part took. A part whose version is installed returns at once.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

# run runs scripts one after another. One that says something has installed something.
run() {
    for script in "$@"; do
        SECONDS=0
        "$script" 2>&1 | {
            lines=0
            while IFS= read -r line; do
                [[ $line == "go: downloading "* ]] && continue # hundreds, which hide the rest
                echo "$line"
                lines=1
            done
            name=${script%/install.sh}
            name=$(basename "${name%/scripts}" .sh)
            if ((lines)); then echo "deps: $name took $SECONDS s"; fi
        } || return 1
    done
}
run ./go.sh ./cannot.sh ./debian.sh # in this order: cannot.sh before anything that takes long

pids=()
# part runs scripts beside the other parts.
part() {
    run "$@" &
    pids+=($!)
}
part ./gvisor.sh ./docker.sh # the engine runs gVisor
part ./gitea.sh ./jupyter.sh
part ./openhands.sh ../openapi/install.sh
part ./forges.sh ./mcp.sh ../llmmocks/install.sh
part ../interop/install.sh
part ../../web/scripts/install.sh
part ./postgres.sh
failed=0
for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
exit $failed
