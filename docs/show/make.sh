#!/usr/bin/env bash
# Regenerates the transcripts in this directory with the real program:
#   docs/show/make.sh [path of deft]
# Needs Go (and, once, its module proxy for github.com/google/uuid), script(1) and,
# for the picture, what `make deps` installs.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
deft=${1:-$root/bin/deft}
tmp=$(mktemp -d)
export DEFT_DATA=$tmp/data NO_COLOR=1
cleanup() { kill "${llm:-0}" 2>/dev/null || true; rm -rf "$tmp" 2>/dev/null || true; }
trap cleanup EXIT

# A copy of a real module with a bug: one group of a UUID is written twice.
src=$(cd "$root" && go mod download -json github.com/google/uuid@v1.6.0 | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
ws=/tmp/uuid
workspace() {
  rm -rf "$ws" && mkdir "$ws" && cp "$src"/*.go "$src"/go.mod "$ws" && chmod -R u+w "$ws"
  sed -i 's/hex.Encode(dst\[19:23\], uuid\[8:10\])/hex.Encode(dst[19:23], uuid[6:8])/' "$ws/uuid.go"
  git -C "$ws" init -q && git -C "$ws" add -A && git -C "$ws" -c user.name=demo -c user.email=demo@localhost commit -qm 'uuid, with a bug'
}
workspace

"$deft" dev scripted-llm "$here/uuid.yaml" --addr 127.0.0.1:8191 >"$tmp/llm" 2>&1 &
llm=$!
until grep -q listening "$tmp/llm"; do kill -0 $llm; done
export LLM_MODEL=openai/scripted LLM_BASE_URL=http://127.0.0.1:8191/v1 LLM_API_KEY=none

# Directories and ids differ from run to run.
plain() { sed -E "s#$tmp#/tmp/show#g"; }

{
  echo '$ deft run "go test fails. Find the bug and fix it."'
  "$deft" run --workspace "$ws" "go test fails. Find the bug and fix it." >"$tmp/first" 2>&1 &
  run=$!
  # The agent has edited the file and the last test run is under way: kill -9.
  until grep -q 'uuid\[8:10\])' "$ws/uuid.go" && [ "$("$deft" conversations show last --json | grep -c '"kind":"ActionEvent"')" -ge 3 ]; do kill -0 $run; done
  kill -9 $run
  wait $run 2>/dev/null || true
  cat "$tmp/first"
  echo
  echo "[kill -9 of deft, while the tests run in the sandbox]"
  echo
  echo '$ deft run --resume last'
  "$deft" run --resume last 2>&1
  echo
  echo '$ deft conversations list'
  "$deft" conversations list
} | plain | tee "$here/run.txt"

# The same task on a terminal, as a picture.
python=${DEFT_OPENHANDS_PYTHON:-${XDG_CACHE_HOME:-$HOME/.cache}/deft-deps/openhands-1.58/bin/python}
workspace
env -u NO_COLOR TERM=xterm-256color script -qec "stty cols 100 rows 50; '$deft' run -C '$ws' 'go test fails. Find the bug and fix it.'" "$tmp/typescript" </dev/null >/dev/null
sed '1d; /^Script done/,$d' "$tmp/typescript" | "$python" "$here/terminal.py" 'deft run "go test fails. Find the bug and fix it."' >"$here/run.svg"
rm -rf "$ws"

{
  echo '$ deft demo'
  "$deft" demo --dir "$tmp/demo" 2>&1
} | plain >"$here/demo.txt"
