#!/usr/bin/env bash
# Creates the virtual environment with the reference implementation. Tests compare
# events and stored conversations with it, run its clients against the agent
# server (test/interop/python), and compare its server with ours.
# test/events/requirements.txt pins the versions. Missing packages are added to an
# existing environment.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
requirements=$here/../events/requirements.txt
venv=${XDG_CACHE_HOME:-$HOME/.cache}/deft-deps/openhands-1.58
# Of the former generation only one client is run, without dependencies (remote_builder.py).
former=openhands-ai==0.62.0
site=$(dirname "$venv")/openhands-ai-0.62
# The newest open App Server runs with the environment's libraries, beside the SDK that it wants
# and the libraries that it lacks there: about 45 MB instead of a gigabyte.
current=(openhands-ai==1.11.0 openhands-sdk==1.34.0 openhands-tools==1.34.0 openhands-agent-server==1.34.0
    pybase62==1.0.0 termcolor==3.3.0 asyncpg greenlet
    google-cloud-storage google-cloud-core google-api-core google-auth google-resumable-media google-crc32c)
newest=$(dirname "$venv")/openhands-ai-1.11

# Check files only and start no program: this runs before every test.
complete() {
    local line name version found
    [[ -x $venv/bin/python ]] || return 1
    while IFS= read -r line; do
        [[ $line == *==* ]] || continue
        name=${line%%==*} version=${line##*==}
        found=("$venv"/lib/python3*/site-packages/"${name//-/_}-$version.dist-info")
        [[ -d ${found[0]} ]] || return 1
    done <"$requirements"
    [[ -d $site/openhands_ai-${former##*==}.dist-info && -e $newest/complete ]]
}
complete && exit 0

# The reference needs Python 3.12 or 3.13.
python=$("$here/python.sh") || python=
if [[ -z $python ]]; then
    echo "deps: Python 3.12 or 3.13 with venv is missing; tests against the reference need it" >&2
    [[ ${CI:-} == true ]] && exit 1
    exit 0
fi

echo "deps: installing the reference implementation in $venv (about 800 MB, two minutes)"
mkdir -p "$(dirname "$venv")"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# pip installs dependencies first, so the packages that complete checks come
# last: an interrupted installation is not complete.
if [[ ! -x $venv/bin/python ]] || ! "$venv/bin/python" -c 'import pip' 2>/dev/null; then
    "$python" -m venv --clear "$venv"
fi
if ! "$venv/bin/python" -m pip install -q --disable-pip-version-check --no-input \
    -r "$requirements" >"$log" 2>&1 ||
    ! "$venv/bin/python" -m pip install -q --disable-pip-version-check --no-input --no-deps --upgrade --target "$site" "$former" >"$log" 2>&1 ||
    ! "$venv/bin/python" -m pip install -q --disable-pip-version-check --no-input --no-deps --upgrade --target "$newest" "${current[@]}" >"$log" 2>&1; then
    tail -n 5 "$log" >&2
    echo "deps: the Python packages could not be installed; is PyPI reachable? Then: make deps" >&2
    [[ ${CI:-} == true ]] && exit 1
    exit 0
fi
touch "$newest/complete"
complete || { echo "deps: $venv is not complete after installing" >&2; exit 1; }
