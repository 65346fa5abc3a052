#!/usr/bin/env bash
# Creates the virtual environment with schemathesis and OpenAI's client.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
venv=${XDG_CACHE_HOME:-$HOME/.cache}/deft-deps/openapi
stamp=$venv/requirements.txt
cmp -s "$here/requirements.txt" "$stamp" && exit 0
python=$("$here/../deps/python.sh") || python=
if [[ -z $python ]]; then
    echo "deps: Python 3.12 or 3.13 with venv is missing; tests of the API's document need it" >&2
    [[ ${CI:-} == true ]] && exit 1
    exit 0
fi
echo "deps: installing schemathesis in $venv"
mkdir -p "$(dirname "$venv")"
"$python" -m venv --clear "$venv"
if ! "$venv/bin/python" -m pip install -q --disable-pip-version-check --no-input -r "$here/requirements.txt"; then
    echo "deps: the Python packages could not be installed; is PyPI reachable? Then: make deps" >&2
    [[ ${CI:-} == true ]] && exit 1
    exit 0
fi
cp "$here/requirements.txt" "$stamp"
