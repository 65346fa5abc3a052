#!/usr/bin/env bash
# Regenerates first-minute.txt with the real program and a scripted model:
#   docs/show/first-minute.sh [path of deft]
# Needs curl, jq and python3.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
deft=${1:-$root/bin/deft}
tmp=$(mktemp -d)
export NO_COLOR=1 HOME=$tmp XDG_DATA_HOME=$tmp/data XDG_CONFIG_HOME=$tmp/config PATH=$(dirname "$deft"):$PATH
cleanup() {
  kill $(jobs -p) 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$tmp"
}
trap cleanup EXIT
cd "$tmp"
"$deft" dev scripted-llm "$here/first-minute.yaml" --addr 127.0.0.1:8195 >llm.log 2>&1 &
until grep -qs listening llm.log; do sleep 0.1; done

at=http://127.0.0.1:8203
# Sends a request as the browser does that has followed the link.
ask() { curl -sS -b jar -c jar -H "Origin: $at" -H 'Content-Type: application/json' "$@"; }
# Shows a command, and runs it here.
show() {
  echo "\$ $*"
  eval "$*"
  echo
}

{
  echo "# The first minute of a new user: no account, no Docker, no configuration. The page does what is"
  echo "# shown here with requests; \`ask\` is curl with the browser's cookie."
  echo
  echo "\$ deft serve --address 127.0.0.1:8203 &"
  began=$(date +%s%3N)
  "$deft" serve --address 127.0.0.1:8203 >server.log 2>&1 &
  until grep -qs '#login=' server.log; do sleep 0.005; done
  ready=$(($(date +%s%3N) - began))
  sed -E 's/(#login=.{6}).*/\1…/' server.log
  echo "# It was there after $ready ms. The link signs the browser in:"
  ask -d "{\"code\":\"$(sed -n 's/.*#login=//p' server.log)\"}" "$at/api/v1/login"
  show "ask $at/api/v1/web-client/config | jq -c '{app_mode: (.app_mode // .APP_MODE)}'"
  echo "# The one field of the first run: a model (here a scripted one on this machine)."
  show "ask $at/api/v1/settings -d '{\"agent_settings_diff\":{\"llm\":{\"model\":\"openai/scripted\",\"base_url\":\"http://127.0.0.1:8195/v1\",\"api_key\":\"none\"}}}' -o /dev/null -w '%{http_code}\n'"
  echo "# The first task."
  show "ask $at/api/v1/app-conversations/stream-start -d '{\"title\":\"Roman numerals\",\"initial_message\":{\"content\":[{\"type\":\"text\",\"text\":\"Write roman.py, which prints a number in Roman numerals.\"}]}}' | tee started | jq -c '.[] | [.status, .detail]'"
  id=$(jq -r '.[-1].app_conversation_id' started)
  until [[ $(ask "$at/api/v1/app-conversations?ids=$id" | jq -r '.[0].execution_status') == finished ]]; do sleep 0.05; done
  took=$(($(date +%s%3N) - began))
  echo "# What happened, as the page shows it:"
  show "ask $at/api/v1/conversation/\$id/events/search | jq -r '.items[] | if .kind == \"MessageEvent\" then .source + \": \" + .llm_message.content[0].text elif .kind == \"ActionEvent\" then .tool_name + \": \" + (.action.command // .action.message) elif .kind == \"ObservationEvent\" and .tool_name == \"terminal\" then (.observation.content[0].text // empty) else empty end'"
  echo "# And the result, $took ms after the start of the server:"
  show "ask $at/api/v1/app-conversations/\$id/git/changes?path=/workspace/project | jq -c '.[]'"
  show "ask '$at/api/v1/app-conversations/'\$id'/file?file_path=/workspace/project/roman.py' | jq -r . | head -4"
} >out
sed -E "s#$tmp#/home/you#g" out >"$here/first-minute.txt"
