#!/usr/bin/env bash
# Finds a Docker engine for the tests, or starts one of their own (as root), and
# makes the image that they use: nothing but busybox. The engine has no bridge and
# leaves the machine's firewall alone. `docker.sh stop` ends it.
set -euo pipefail
dir=${XDG_CACHE_HOME:-$HOME/.cache}/deft-deps/docker
image=deft-test-busybox:1

fail() {
    echo "deps: $*; tests with containers need a Docker engine" >&2
    [[ ${CI:-} == true ]] && exit 1
    exit 0
}
answers() { docker version >/dev/null 2>&1; }

own() { export DOCKER_HOST=unix://$dir/docker.sock; }
if [[ ${1:-} == stop ]]; then
    own
    if [[ -e $dir/pid ]] && kill "$(cat "$dir/pid")" 2>/dev/null; then
        while answers; do sleep 0.1; done
    fi
    exit 0
fi
answers || own
if ! answers; then
    [[ $(id -u) -eq 0 ]] || fail "no Docker engine answers, and only root can start one"
    mkdir -p "$dir"
    echo "deps: starting a Docker engine in $dir (test/deps/docker.sh stop ends it)"
    setsid dockerd --data-root "$dir/data" --exec-root "$dir/run" --pidfile "$dir/pid" -H "$DOCKER_HOST" \
        --bridge=none --iptables=false >"$dir/log" 2>&1 </dev/null &
    for ((i = 0; i < 300; i++)); do
        if answers; then break; fi
        sleep 0.1
    done
    answers || { tail -5 "$dir/log" >&2; fail "the engine did not start, see $dir/log"; }
fi
docker image inspect "$image" >/dev/null 2>&1 && exit 0
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root"/{bin,etc,proc,sys,dev,root,home/user}
install -d -m 1777 "$root/tmp"
cp "$(command -v busybox)" "$root/bin/busybox"
for name in $("$root/bin/busybox" --list); do
    [[ $name == busybox ]] || ln -sf busybox "$root/bin/$name"
done
printf 'root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000:user:/home/user:/bin/sh\n' >"$root/etc/passwd"
printf 'root:x:0:\nuser:x:1000:\n' >"$root/etc/group"
chown 1000:1000 "$root/home/user" 2>/dev/null || true # only root can
tar -C "$root" -c . | docker import -c 'ENV PATH=/bin' -c 'CMD ["sh"]' - "$image" >/dev/null
echo "deps: made the image $image"
