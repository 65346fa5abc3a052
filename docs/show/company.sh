#!/usr/bin/env bash
# Regenerates company.txt with the real program, PostgreSQL and a real engine:
#   docs/show/company.sh [path of deft]
# Needs what `make deps` starts, curl and jq.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
deft=${1:-$root/bin/deft}
deps=${XDG_CACHE_HOME:-$HOME/.cache}/deft-deps
tmp=$(mktemp -d)
database=show_$$
psql=$(ls -d /usr/lib/postgresql/*/bin/psql | tail -1)
export NO_COLOR=1
cleanup() {
  kill $(jobs -p) 2>/dev/null || true
  wait 2>/dev/null || true
  "$psql" -qh "$deps/postgres" -U postgres -c "DROP DATABASE IF EXISTS $database WITH (FORCE)" || true
  rm -rf "$tmp"
}
trap cleanup EXIT
"$psql" -qh "$deps/postgres" -U postgres -c "CREATE DATABASE $database"

"$deft" dev scripted-llm "$here/company.yaml" --addr 127.0.0.1:8193 >"$tmp/llm" 2>&1 &
until grep -q listening "$tmp/llm"; do sleep 0.1; done

# What each program has in its environment. The two servers share a key for what they seal.
export DEFT_RUNTIME_API_KEYS=company DEFT_RUNTIME_API_KEY=company
export OH_SECRET_KEY=of-both-servers DEFT_DATABASE_URL="postgres://postgres@/$database?host=$deps/postgres"
export LLM_MODEL=openai/scripted LLM_BASE_URL=http://127.0.0.1:8193/v1 LLM_API_KEY=none
export DOCKER_HOST=${DOCKER_HOST:-unix://$deps/docker/docker.sock}
export PATH=$(dirname "$deft"):$PATH

cd "$tmp"
# Starts a server, shows what it is and waits until it says that it listens.
begin() {
  local name=$1
  shift
  echo "\$ $* &"
  "$@" --data "$tmp/$name" >"$tmp/$name.log" 2>&1 &
  echo $! >"$tmp/$name.pid"
  until grep -q 'runtime API on\|#login=' "$name.log"; do kill -0 "$(cat "$name.pid")"; sleep 0.1; done
  sed -E 's/(#login=.{6}).*/\1…/' "$name.log"
}

# Sends a request with the API key of the company's user.
ask() { curl -sS -H "Authorization: Bearer $key" -H 'Content-Type: application/json' "$@"; }

# Shows a command, and runs it here.
show() {
  echo "\$ $*"
  eval "$*"
  echo
}

{
  echo "# A Runtime API that starts containers, two App Servers without a directory in common, and"
  echo "# PostgreSQL (in DEFT_DATABASE_URL)."
  echo
  begin runtimes deft runtime-api --port 8194 --sandbox docker
  for n in 1 2; do
    begin "server$n" deft serve --address 127.0.0.1:820$n --sandbox remote --runtime-api http://127.0.0.1:8194 --image deft-test-busybox:1 --pull never
  done
  echo
  curl -sS -c "$tmp/jar" -H 'Content-Type: application/json' -d "{\"code\":\"$(sed -n 's/.*#login=//p' server1.log)\"}" http://127.0.0.1:8201/api/v1/login
  key=$(curl -sS -b "$tmp/jar" -H 'Content-Type: application/json' -d '{"name":"show"}' http://127.0.0.1:8201/api/keys | jq -r .key)
  echo "# A task, given to the first server. \`ask\` is curl with an API key."
  show "ask http://127.0.0.1:8201/api/v1/app-conversations/stream-start -d '{\"title\":\"Count\",\"initial_message\":{\"content\":[{\"type\":\"text\",\"text\":\"Count to five.\"}]}}' | tee started | jq -c '.[] | [.status, .detail]'"
  id=$(jq -r '.[-1].app_conversation_id' started)
  until ask "http://127.0.0.1:8202/api/v1/app-conversations/$id/file?file_path=/workspace/project/counted" | grep -q 2; do sleep 0.1; done
  echo "# In the middle of the command, the first server is killed."
  show 'kill -9 $(cat server1.pid)'
  wait "$(cat server1.pid)" 2>/dev/null || true
  killed=$(date +%s%3N)
  until grep -q 'continue a conversation' server2.log; do sleep 0.05; done
  echo "# The second server has taken the conversation over after $(($(date +%s%3N) - killed)) ms:"
  show "grep -o 'msg=.*' server2.log | sed -E 's/conversation=.*//' | tail -2"
  until [[ $(ask "http://127.0.0.1:8202/api/v1/app-conversations?ids=$id" | jq -r '.[0].execution_status') == finished ]]; do sleep 0.2; done
  echo "# The command ran once, and the events are all there:"
  show "ask 'http://127.0.0.1:8202/api/v1/app-conversations/'\$id'/file?file_path=/workspace/project/counted' | jq -r ."
  show "ask http://127.0.0.1:8202/api/v1/conversation/\$id/events/search | jq -r '.items[] | select(.kind | test(\"Message|Action|Observation\")) | .source + \" \" + .kind'"
  ask -X DELETE "http://127.0.0.1:8202/api/v1/app-conversations/$id" >/dev/null
} >"$tmp/out"
sed -E "s#$tmp#/tmp/show#g" "$tmp/out" >"$here/company.txt"
