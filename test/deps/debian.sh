#!/usr/bin/env bash
# Installs Debian packages, as root or with sudo. Elsewhere it names what is
# missing and fails only where a test cannot do without (CI=true).
set -euo pipefail

# program: package
wanted=(
    bash:bash           # the terminal tool
    git:git             # diffstats, tests of the tools
    rg:ripgrep          # the fast half of the grep tool
    python3:python3     # interactive programs in terminal tests
    gcc:gcc             # go test -race needs cgo
    unshare:util-linux  # probes of the sandbox
    ps:procps           # looking for orphans
    chromium:chromium   # the web page that drives the agent server
)
missing=()
for w in "${wanted[@]}"; do
    # The sandbox shows system directories only, so a program elsewhere in
    # PATH (a version manager's, for example) does not count.
    if ! PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin command -v "${w%%:*}" >/dev/null; then
        missing+=("${w##*:}")
    fi
done
# gcc alone has no headers.
[[ -e /usr/include/stdlib.h ]] || missing+=(libc6-dev)
# A browser without letters shows boxes.
[[ -e /usr/share/fonts/truetype/liberation ]] || missing+=(fonts-liberation)
[[ ${#missing[@]} -eq 0 ]] && exit 0

as_root=()
if [[ $(id -u) -ne 0 ]]; then
    if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
        as_root=(sudo -n)
    else
        as_root=(false)
    fi
fi
if ! command -v apt-get >/dev/null || [[ ${as_root[*]-} == false ]]; then
    echo "deps: missing: ${missing[*]} (Debian's names); install them with your package manager" >&2
    [[ ${CI:-} == true ]] && exit 1
    exit 0
fi
echo "deps: installing ${missing[*]}"
install() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -q --no-install-recommends "${missing[@]}" >/dev/null
}
# A list of packages may be there already; it is fetched only if it is not
# enough.
if ! install 2>/dev/null; then
    echo "deps: updating the list of packages"
    "${as_root[@]}" apt-get update -q >/dev/null
    install
fi
