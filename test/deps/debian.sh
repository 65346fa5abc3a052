#!/usr/bin/env bash
# Installs Debian packages, as root or with sudo. Without them or on another
# system it lists the missing programs, and fails only if CI=true.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

# program: package
wanted=(
    bash:bash           # the terminal tool
    git:git             # diffstats, tests of tools
    rg:ripgrep          # fast path of the grep tool
    python3:python3     # interactive programs in terminal tests
    gcc:gcc             # go test -race needs cgo
    unshare:util-linux  # probes of the sandbox
    ip:iproute2         # the network of the sandbox's tests
    curl:curl           # clients of the sandbox's proxy: this and the next two
    pip3:python3-pip
    npm:npm
    ps:procps           # search for orphaned processes
    chromium-headless-shell:chromium-headless-shell # pages; a third less work than chromium --headless
    dockerd:docker.io   # sandboxes of containers: this and the next
    busybox:busybox-static
)
missing=()
for w in "${wanted[@]}"; do
    # Only system directories are visible in the sandbox, so a program elsewhere in
    # PATH (a version manager's, for example) is not enough.
    if ! PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin command -v "${w%%:*}" >/dev/null; then
        missing+=("${w##*:}")
    fi
done
# gcc does not include the C library's headers.
[[ -e /usr/include/stdlib.h ]] || missing+=(libc6-dev)
# Debian does not put the server of PostgreSQL into PATH.
compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null || missing+=(postgresql)
# The reference needs a Python with venv; cannot.sh has said if Debian's is too old.
if ! ./python.sh >/dev/null && python3 -c 'import sys; sys.exit(sys.version_info[:2] not in ((3, 12), (3, 13)))' 2>/dev/null; then
    missing+=(python3-venv)
elif ! command -v python3 >/dev/null; then
    missing+=(python3-venv)
fi
# cargo-web is the recent cargo of a release whose own is too old.
if ! ./cargo.sh >/dev/null; then
    if [[ $(apt-cache policy cargo-web 2>/dev/null) == *Candidate:\ [0-9]* ]]; then
        missing+=(cargo-web)
    else
        missing+=(cargo)
    fi
fi
# Without fonts the browser cannot show text.
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
# Update the list of packages only if installing with the present one fails.
if ! install 2>/dev/null; then
    echo "deps: updating the list of packages"
    "${as_root[@]}" apt-get update -q >/dev/null
    install
fi
