#!/usr/bin/env bash
# Checks that generated files are up to date: generates them in a temporary
# directory and compares.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT
"${GO:-go}" run ./internal/licenses/generate -o "$new/LICENSES.txt"
if ! diff -q internal/licenses/LICENSES.txt "$new/LICENSES.txt"; then
    echo "generated: internal/licenses/LICENSES.txt is out of date: run go generate ./internal/licenses" >&2
    exit 1
fi
rm "$new/LICENSES.txt"
python=${DEFT_OPENHANDS_PYTHON:-${XDG_CACHE_HOME:-$HOME/.cache}/deft-deps/openhands-1.58/bin/python}
if [[ ! -x $python ]]; then
    echo "generated: no reference implementation at $python (make deps installs it)" >&2
    [[ ${CI:-} == true ]] && exit 1
    exit 0
fi
"$python" -B test/events/golden.py "$new" >/dev/null
if ! diff -r event/testdata/golden "$new"; then
    echo "generated: event/testdata/golden is out of date: see test/events/README.md" >&2
    exit 1
fi
"$python" -B test/openapi/contract.py "$new/contract.jsonl" 2>/dev/null
if ! diff -q spec/contract.jsonl "$new/contract.jsonl"; then
    echo "generated: spec/contract.jsonl is out of date: run $python test/openapi/contract.py spec/contract.jsonl" >&2
    exit 1
fi
