#!/usr/bin/env bash
# Builds deft, with the program of sandboxes in it: build.sh OUTPUT [FLAG OF go build ...]
# GO names the go command; GOOS and GOARCH are those of both programs.
set -euo pipefail

output=$1
shift
go=${GO:-go}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export CGO_ENABLED=0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

case $output in /*) ;; *) output=$PWD/$output ;; esac
cd "$root"
$go build -buildvcs=false -trimpath -ldflags "-s -w" -o "$work/deft-sandbox" ./cmd/deft-sandbox
echo "$(sha256sum <"$work/deft-sandbox" | cut -d' ' -f1) $(wc -c <"$work/deft-sandbox")" >"$work/deft-sandbox.about"
gzip -9n "$work/deft-sandbox"

cat >"$work/overlay.json" <<JSON
{"Replace": {
  "$root/sandbox/program/built/deft-sandbox.gz": "$work/deft-sandbox.gz",
  "$root/sandbox/program/built/deft-sandbox.about": "$work/deft-sandbox.about"
}}
JSON
$go build -buildvcs=false -trimpath -overlay "$work/overlay.json" "$@" -o "$output" ./cmd/deft
