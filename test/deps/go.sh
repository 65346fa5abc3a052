#!/usr/bin/env bash
# Checks that there is a Go toolchain. A build downloads modules; a toolchain that
# is too old downloads the one that go.mod names.
set -euo pipefail
if ! command -v go >/dev/null; then
    echo "deps: Go is missing: install it from https://go.dev/dl (the version is in go.mod)" >&2
    exit 1
fi
