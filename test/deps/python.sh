#!/usr/bin/env bash
# Prints the path of a Python 3.12 or 3.13 with venv, which OpenHands needs: python.sh.
# Fails without a word if there is none.
set -euo pipefail
for candidate in python3.12 python3.13 "$HOME"/.pyenv/versions/3.1[23]*/bin/python python3 /usr/bin/python3; do
    # A version manager may provide the command without that version.
    if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info[:2] not in ((3, 12), (3, 13)))' 2>/dev/null; then
        echo "$candidate"
        exit 0
    fi
done
exit 1
