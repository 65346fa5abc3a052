#!/usr/bin/env bash
# Runs every Fuzz function for a time (default: 30s), one after the other. Failing
# inputs are stored in the package's testdata/fuzz; every later test run tries
# them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
time=${1:-30s}
grep -rEo --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' . | sort -u |
    while IFS=: read -r file func; do
        name=${func#func }
        echo "fuzz: $(dirname "$file") $name for $time"
        go test -run '^$' -fuzz "^$name\$" -fuzztime "$time" "$(dirname "$file")" </dev/null
    done
