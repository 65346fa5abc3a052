#!/usr/bin/env bash
# Says what is missing and cannot be installed, before the parts that take minutes. With
# CI=true that is an error.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
cannot=()
# available reports whether Debian has a version of a package that matches.
available() {
    command -v apt-cache >/dev/null || return 1
    [[ $(apt-cache policy "$1" 2>/dev/null | sed -n 's/^  Candidate: //p') =~ $2 ]]
}
if ! ./python.sh >/dev/null && ! available python3 '^3\.1[23]\.'; then
    cannot+=("Python 3.12 or 3.13 with venv: this system's packages have neither; install one as python3.12 or with pyenv (tests against OpenHands need it)")
fi
[[ ${#cannot[@]} -eq 0 ]] && exit 0
printf 'deps: missing, and make deps cannot install it: %s\n' "${cannot[@]}" >&2
[[ ${CI:-} == true ]] && exit 1
exit 0
