#!/usr/bin/env bash
# Fetches what Git hosts publish about their APIs, for the tests of forge: GitHub's
# OpenAPI document with its examples, its GraphQL schema, recorded answers of GitHub, and
# the answers that GitLab's own client is tested with. Returns at once if it is there.
set -euo pipefail
openapi=23.0.2 fixtures=23.1.2 graphql=15.26.1 gitlab=v1.46.0
version="$openapi $fixtures $graphql $gitlab"
dir=${XDG_CACHE_HOME:-$HOME/.cache}/deft-deps/forges
[[ $(cat "$dir/version" 2>/dev/null) == "$version" ]] && exit 0

give_up() {
    echo "deps: $1; tests with what Git hosts publish need it" >&2
    [[ ${CI:-} == true ]] && exit 1
    exit 0
}
command -v npm >/dev/null && command -v node >/dev/null || give_up "node and npm are missing"
echo "deps: fetching what Git hosts publish in $dir (about 60 MB, ten seconds)"
rm -rf "$dir"
mkdir -p "$dir/openapi" "$dir/fixtures" "$dir/graphql" "$dir/gitlab"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
pack() { npm pack --silent "$1" >/dev/null && tar -xzf ./*.tgz -C "$2" --strip-components=1 "${@:3}" && rm ./*.tgz; }
pack "@octokit/openapi@$openapi" "$dir/openapi" package/generated/api.github.com.json package/LICENSE &&
    pack "@octokit/fixtures@$fixtures" "$dir/fixtures" package/scenarios package/package.json &&
    npm --prefix "$dir/graphql" install --silent --no-audit --no-fund --ignore-scripts "@octokit/graphql-schema@$graphql" >/dev/null ||
    give_up "packages of npm cannot be fetched"
printf 'module fetch\n' >go.mod
go mod download -json "gitlab.com/gitlab-org/api/client-go@$gitlab" >module.json || give_up "GitLab's client cannot be fetched"
source=$(sed -n 's/^\t"Dir": "\(.*\)",$/\1/p' module.json)
cp "$source"/testdata/*.json "$source/LICENSE" "$dir/gitlab/"
chmod -R u+w "$dir/gitlab"
echo "$version" >"$dir/version"
