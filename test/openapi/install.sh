#!/usr/bin/env bash
# Creates the virtual environment with schemathesis and OpenAI's client.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
venv=${XDG_CACHE_HOME:-$HOME/.cache}/deft-deps/openapi
stamp=$venv/requirements.txt
cmp -s "$here/requirements.txt" "$stamp" && exit 0
python=
for candidate in python3.12 python3.13 "$HOME"/.pyenv/versions/3.1[23]*/bin/python python3 /usr/bin/python3; do
    if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
        python=$candidate
        break
    fi
done
if [[ -z $python ]]; then
    echo "deps: Python 3.10 or later with venv is missing; tests of the API's document need it" >&2
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
