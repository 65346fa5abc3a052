#!/usr/bin/env bash
# Regenerates sandboxes.txt with the real program, a real engine and gVisor:
#   docs/show/sandboxes.sh [path of deft]
# Needs a static Go in /usr/local/go (and, once, its module proxy for
# github.com/google/uuid), and the engine that `make deps` starts, or another one in
# DOCKER_HOST with its image and a runtime runsc.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
deft=${1:-$root/bin/deft}
tmp=$(mktemp -d)
export DEFT_DATA=$tmp/data NO_COLOR=1
export DOCKER_HOST=${DOCKER_HOST:-unix://${XDG_CACHE_HOME:-$HOME/.cache}/deft-deps/docker/docker.sock}
ws=/tmp/uuid image=deft-show-go:1
. "$here/scripted.sh"
cleanup() {
  docker image rm -f "$image" >/dev/null 2>&1 || true
  kill ${llm:+"$llm"} 2>/dev/null || true
  rm -rf "$tmp" "$ws"
}
trap cleanup EXIT

# A copy of a real module with a bug: one group of a UUID is written twice.
src=$(cd "$root" && go mod download -json github.com/google/uuid@v1.6.0 | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
rm -rf "$ws" && mkdir "$ws" && cp "$src"/*.go "$src"/go.mod "$ws" && chmod -R u+w "$ws"
sed -i 's/hex.Encode(dst\[19:23\], uuid\[8:10\])/hex.Encode(dst[19:23], uuid[6:8])/' "$ws/uuid.go"
git -C "$ws" init -q && git -C "$ws" add -A && git -C "$ws" -c user.name=demo -c user.email=demo@localhost commit -qm 'uuid, with a bug'

# An image with busybox and Go, made here: no registry is needed.
made=$(docker create deft-test-busybox:1)
docker cp -q /usr/local/go "$made:/"
docker commit -c 'ENV PATH=/bin:/go/bin' "$made" "$image" >/dev/null
docker rm "$made" >/dev/null

model "$here/sandboxes.yaml"

# Shows a command, and runs it in the workspace.
show() {
  echo "\$ $*"
  (cd "$ws" && PATH=$(dirname "$deft"):$PATH bash -c "$*" 2>&1)
  echo
}

{
  echo "# The image holds busybox and Go: no bash, no git, no C library. Commands reach Go's"
  echo "# registries only."
  echo
  for runtime in "" " --oci-runtime runsc"; do
    show "deft run --sandbox docker --image $image --pull never$runtime --net=go 'go test fails. Find the bug and fix it.'"
    echo "# What the model was told of the refused host:"
    show "deft conversations show last --json | grep -o '.The sandbox.s proxy refused[^]]*]'"
    show git diff --stat
    show deft undo --yes
    show git status --short
  done
  echo "# Budgets are for a machine that does nothing else. Its load average: $(cut -d ' ' -f 1-3 /proc/loadavg)"
  echo '$ go run ./test/bench/runtimeapi -deft bin/deft -docker $DOCKER_HOST'
  (cd "$root" && go run ./test/bench/runtimeapi -deft "$deft" -docker "$DOCKER_HOST")
} | sed -E "s#$tmp#/tmp/show#g" | tee "$tmp/sandboxes.txt"
cp "$tmp/sandboxes.txt" "$here/sandboxes.txt"
