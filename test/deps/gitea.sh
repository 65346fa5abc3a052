#!/usr/bin/env bash
# Builds Gitea from its Go module, a real forge for tests: 3 to 5 minutes, once. Its
# database is SQLite in C, so that it needs a C compiler, as the race detector does; what
# the compiler would optimize costs more time here than the tests save.
set -euo pipefail
version=v1.26.0
dir=${XDG_CACHE_HOME:-$HOME/.cache}/deft-deps/gitea
[[ $(cat "$dir/version" 2>/dev/null) == "$version" && -x $dir/gitea ]] && exit 0

give_up() {
    echo "deps: $1; tests with a real forge need it" >&2
    [[ ${CI:-} == true ]] && exit 1
    exit 0
}
echo "deps: building Gitea $version in $dir (about 110 MB, 3 to 5 minutes)"
mkdir -p "$dir"
rm -rf "$dir/src" "$dir/version"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$work" && printf 'module fetch\n' >go.mod && go mod download -json "code.gitea.io/gitea@$version" >module.json) ||
    give_up "Gitea cannot be fetched"
source=$(sed -n 's/^\t"Dir": "\(.*\)",$/\1/p' "$work/module.json")
# Only its replace directives keep it from go install; they hold within the module.
(cd "$source" && CGO_ENABLED=1 CGO_CFLAGS=-O0 go build -mod=readonly -trimpath -tags 'sqlite sqlite_unlock_notify' \
    -ldflags "-X main.Version=${version#v} -s -w" -o "$dir/gitea" .) || give_up "Gitea cannot be built"
mkdir "$dir/src"
cp -r "$source/options" "$source/templates" "$source/public" "$dir/src/"
chmod -R u+w "$dir/src"
echo "$version" >"$dir/version"
