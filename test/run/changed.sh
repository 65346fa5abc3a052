#!/usr/bin/env bash
# Prints the directories of the Go packages that differ from a commit (default:
# HEAD), each once; ./... if go.mod differs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
base=${1:-HEAD}
{
    git diff --name-only --relative "$base" --
    git ls-files --others --exclude-standard
} | {
    while IFS= read -r file; do
        case $file in
        go.mod | go.sum)
            echo ./...
            ;;
        tools/*) ;; # a separate module
        */testdata/* | *.go | *.md | *.json | *.yaml)
            dir=./$(dirname "${file%%/testdata/*}/x")
            [[ $file == */testdata/* ]] || dir=./$(dirname "$file")
            # The directory may be deleted or contain no package.
            if compgen -G "$dir/*.go" >/dev/null; then
                echo "$dir"
            fi
            ;;
        esac
    done
} | sort -u
