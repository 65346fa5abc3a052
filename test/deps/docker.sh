#!/usr/bin/env bash
# Finds a Docker engine for the tests, or starts one of their own (as root), and
# makes the image that they use: nothing but busybox. The engine has no bridge and
# leaves the machine's firewall alone. It has gVisor if gvisor.sh has built that.
# `docker.sh stop` ends it.
set -euo pipefail
dir=${XDG_CACHE_HOME:-$HOME/.cache}/deft-deps/docker
image=deft-test-busybox:1

fail() {
    echo "deps: $*; tests with containers need a Docker engine" >&2
    [[ ${CI:-} == true ]] && exit 1
    exit 0
}
answers() { docker version >/dev/null 2>&1; }
has_gvisor() { [[ $(docker info --format '{{range $name, $_ := .Runtimes}}{{$name}} {{end}}' 2>/dev/null) == *runsc* ]]; }

own() { export DOCKER_HOST=unix://$dir/docker.sock; }
stop() {
    local pid
    if pid=$(cat "$dir/pid" 2>/dev/null) && kill "$pid" 2>/dev/null; then
        while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done # it stops to answer before
    fi
}
runsc=$(dirname "$dir")/gvisor/runsc
configuration() {
    if [[ -x $runsc ]]; then
        printf '{"runtimes": {"runsc": {"path": "%s", "runtimeArgs": ["--platform=systrap", "--host-uds=all", "--network=none"]}}}' "$runsc"
    else
        printf '{}'
    fi
}
if [[ ${1:-} == stop ]]; then
    own
    stop
    exit 0
fi
answers || own
if answers && [[ ${DOCKER_HOST:-} == "unix://$dir/docker.sock" && $(cat "$dir/daemon.json" 2>/dev/null) != "$(configuration)" ]]; then
    stop # one of before
elif answers && [[ -x $runsc ]] && ! has_gvisor; then
    echo "deps: your Docker engine has no runtime runsc, so tests with gVisor are skipped: $runsc with --platform=systrap --host-uds=all --network=none" >&2
fi
if ! answers; then
    [[ $(id -u) -eq 0 ]] || fail "no Docker engine answers, and only root can start one"
    mkdir -p "$dir"
    configuration >"$dir/daemon.json"
    echo "deps: starting a Docker engine in $dir (test/deps/docker.sh stop ends it)"
    setsid dockerd --config-file "$dir/daemon.json" --data-root "$dir/data" --exec-root "$dir/run" --pidfile "$dir/pid" -H "$DOCKER_HOST" \
        --bridge=none --iptables=false >"$dir/log" 2>&1 </dev/null &
    for ((i = 0; i < 1800; i++)); do
        if answers; then break; fi
        sleep 0.1
    done
    answers || { tail -5 "$dir/log" >&2; fail "the engine did not start, see $dir/log"; }
fi
docker image inspect "$image" >/dev/null 2>&1 && exit 0
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root" # users in it must reach its files
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
