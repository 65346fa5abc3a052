#!/usr/bin/env bash
# Prints the path of a cargo that can read registries over HTTP (1.68 or later), where the
# tests of sandbox/process look for one. Fails without a word if there is none.
set -euo pipefail
for cargo in "$(rustup which cargo 2>/dev/null)" /usr/bin/cargo /usr/local/cargo/bin/cargo; do
    version=$("$cargo" --version 2>/dev/null) || continue
    if [[ $version =~ ^cargo\ 1\.([0-9]+)\. && ${BASH_REMATCH[1]} -ge 68 ]]; then
        echo "$cargo"
        exit 0
    fi
done
exit 1
