#!/usr/bin/env bash
# Starts a PostgreSQL server for the tests, with its data and its UNIX socket in one
# directory; only its user can connect. It does not wait for the disk (fsync=off),
# and starts empty. `postgres.sh stop` ends it.
set -euo pipefail
dir=${XDG_CACHE_HOME:-$HOME/.cache}/deft-deps/postgres

fail() {
    echo "deps: $*; tests with PostgreSQL need a server" >&2
    [[ ${CI:-} == true ]] && exit 1
    exit 0
}
bin=$(compgen -G '/usr/lib/postgresql/*/bin/postgres' | sort -V | tail -1) || bin=$(command -v postgres) || fail "PostgreSQL is not installed"
bin=$(dirname "$bin")
answers() { "$bin/pg_isready" -q -h "$dir" -U postgres -d postgres; }

if [[ ${1:-} == stop ]]; then
    pid=$(head -1 "$dir/data/postmaster.pid" 2>/dev/null) || exit 0
    kill -INT "$pid" 2>/dev/null || exit 0
    while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
    exit 0
fi
answers && exit 0
mkdir -p "$dir"
exec 9>"$dir/lock"
flock 9 # only one of several starts it
answers && exit 0
# The server refuses to run as root. Its user cannot reach a directory in root's home,
# so it sees the directory in a place of its own, in a mount namespace.
as_user=()
home=$dir
if [[ $(id -u) -eq 0 ]]; then
    user=postgres home=/var/lib/postgresql
    id "$user" >/dev/null 2>&1 && [[ -d $home ]] || fail "root needs the user $user to start it"
    chown "$user:" "$dir"
    # shellcheck disable=SC2016 # the inner shell expands them
    as_user=(unshare --mount bash -c 'mount --bind "$1" "$2"; shift 2; exec setpriv --reuid="$1" --regid="$1" --init-groups "${@:2}"' bash "$dir" "$home" "$user")
fi
cd / # where every user can be
echo "deps: starting PostgreSQL in $dir (test/deps/postgres.sh stop ends it)"
rm -rf "$dir/data"
"${as_user[@]}" "$bin/initdb" -D "$home/data" -A trust -U postgres --no-sync -E UTF8 --locale=C >/dev/null || fail "initdb failed"
setsid "${as_user[@]}" "$bin/postgres" -D "$home/data" -k "$home" -c listen_addresses= -c unix_socket_permissions=0700 \
    -c max_connections=400 -c shared_buffers=64MB -c fsync=off -c full_page_writes=off >"$dir/log" 2>&1 </dev/null 9>&- &
for ((i = 0; i < 1800; i++)); do
    if answers; then exit 0; fi
    sleep 0.1
done
tail -5 "$dir/log" >&2
fail "the server did not start, see $dir/log"
