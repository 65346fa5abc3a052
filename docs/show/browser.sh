#!/usr/bin/env bash
# Regenerates browser.txt: an agent uses a shop's page in the browser of its sandbox, with the
# real program, Chromium and a scripted model:
#   docs/show/browser.sh [path of deft]
# Needs chromium-headless-shell, python3 and curl.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
deft=$(realpath "${1:-$here/../../bin/deft}")
tmp=$(mktemp -d)
ws=/tmp/shop
. "$here/scripted.sh"
cleanup() {
  kill ${llm:+"$llm"} 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$tmp" "$ws"
}
trap cleanup EXIT
mkdir -p "$tmp/home" && rm -rf "$ws" && mkdir "$ws" && cd "$ws"
export NO_COLOR=1 HOME=$tmp/home XDG_DATA_HOME=$tmp/home/.local/share XDG_CONFIG_HOME=$tmp/home/.config PATH=$(dirname "$deft"):$PATH
unset DEFT_DATA

cat >index.html <<'END'
<!doctype html><meta charset="utf-8"><title>Tea shop</title>
<h1>Tea</h1>
<label>Sort <select><option>Assam, 4 €</option><option>Sencha, 6 €</option></select></label>
<label>Bags <input value="1"></label>
<button onclick="document.querySelector('output').textContent = document.querySelector('input').value + ' × ' + document.querySelector('select').value">Order</button>
<p>Your order: <output>nothing yet</output></p>
END
# The model finds the elements' indices in the state of the page, its third result.
cat >"$tmp/turns.yaml" <<'END'
turns:
  - reply: {tool_calls: [{name: terminal, arguments: {command: "(python3 -m http.server 8000 >/dev/null 2>&1 &); until curl -s localhost:8000 >/dev/null; do :; done; echo served"}}]}
  - reply: {tool_calls: [{name: browser_navigate, arguments: {url: "http://localhost:8000/"}}]}
  - reply: {tool_calls: [{name: browser_get_state, arguments: {}}]}
  - reply: {tool_calls: [{name: browser_type, arguments: {index: '{{find `"index": (\d+),\s+"tag": "select"` (index .ToolResults 2)}}', text: "Sencha, 6 €"}}]}
  - reply: {tool_calls: [{name: browser_type, arguments: {index: '{{find `"index": (\d+),\s+"tag": "input"` (index .ToolResults 2)}}', text: "3"}}]}
  - reply: {tool_calls: [{name: browser_click, arguments: {index: '{{find `"index": (\d+),\s+"tag": "button"` (index .ToolResults 2)}}'}}]}
  - reply: {tool_calls: [{name: browser_get_content, arguments: {}}]}
  - reply: {tool_calls: [{name: finish, arguments: {message: "Three bags of Sencha are ordered."}}]}
END

model "$tmp/turns.yaml"

{
  echo "# A browser session against a local shop page, run by browser.sh with a scripted model."
  echo
  show 'deft run --tool browser_tool_set "order three bags of Sencha at localhost:8000"'
} | sed "s,/root/.pyenv/versions/[^/]*/bin/,/usr/bin/," >"$here/browser.txt"
