#!/usr/bin/env bash
# Installs a Jupyter kernel in an environment of its own, for the tool ipython.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
venv=${XDG_CACHE_HOME:-$HOME/.cache}/deft-deps/jupyter
version=7.4.0
[[ -x $venv/bin/python3 ]] && compgen -G "$venv/lib/python3*/site-packages/ipykernel-$version.dist-info" >/dev/null && exit 0
python=$("$here/python.sh") || python=
if [[ -z $python ]]; then
    echo "deps: Python 3.12 or 3.13 with venv is missing; tests of the tool ipython need it" >&2
    [[ ${CI:-} == true ]] && exit 1
    exit 0
fi
echo "deps: installing a Jupyter kernel in $venv (about 60 MB)"
mkdir -p "$(dirname "$venv")"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { "$python" -m venv --clear "$venv" &&
    "$venv/bin/python" -m pip install -q --disable-pip-version-check --no-input "ipykernel==$version"; } >"$log" 2>&1; then
    tail -n 5 "$log" >&2
    echo "deps: the Jupyter kernel could not be installed; is PyPI reachable? Then: make deps" >&2
    [[ ${CI:-} == true ]] && exit 1
    exit 0
fi
