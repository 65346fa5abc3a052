#!/usr/bin/env bash
# Regenerates extensions.txt and extensions.png: a notebook that plots a CSV, and a hook that
# stops `git push` to main, with the real program and a scripted model:
#   docs/show/extensions.sh [path of deft]
# Needs git, python3 with venv, and PyPI or the index that pip is set to.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
deft=${1:-$root/bin/deft}
tmp=$(mktemp -d)
mkdir -p "$tmp/home"
export NO_COLOR=1 HOME=$tmp/home XDG_DATA_HOME=$tmp/home/.local/share XDG_CONFIG_HOME=$tmp/home/.config PATH=$(dirname "$deft"):$PATH
export GIT_AUTHOR_NAME=you GIT_AUTHOR_EMAIL=you@localhost GIT_COMMITTER_NAME=you GIT_COMMITTER_EMAIL=you@localhost
unset DEFT_DATA
ws=/tmp/extensions
. "$here/scripted.sh"
cleanup() {
  kill ${llm:+"$llm"} 2>/dev/null || true
  wait 2>/dev/null || true
  chmod -R u+w "$tmp" "$ws" 2>/dev/null || true
  rm -rf "$tmp" "$ws"
}
trap cleanup EXIT

# Begins a situation in a new repository with a remote. The model's turns are on standard input.
situation() {
  printf '\n## %s\n\n' "$1"
  rm -rf "$ws" && mkdir -p "$ws/app" && git init -q --bare "$ws/remote" && cd "$ws/app"
  git init -q -b main && git remote add origin "$ws/remote" && echo 'An app.' >README.md && echo .venv/ >.gitignore && git add -A && git commit -qm begin
  cat >"$tmp/turns.yaml"
  model "$tmp/turns.yaml"
}

{
  echo "# A notebook and a hook. Each is run by extensions.sh with a scripted model."

  situation "A notebook plots a CSV: the kernel keeps its variables, and %pip reaches PyPI and nothing else" <<'END2'
turns:
  - reply: {tool_calls: [{name: terminal, arguments: {timeout: 600, command: "python3 -m venv .venv && .venv/bin/python -m pip install -q ipykernel && printf 'month,sales\\nJan,12\\nFeb,19\\nMar,31\\n' >sales.csv && echo ready"}}]}
  - reply: {tool_calls: [{name: ipython, arguments: {timeout: 600, code: "%pip install -q matplotlib"}}]}
  - reply: {tool_calls: [{name: ipython, arguments: {code: "import csv\nrows = list(csv.DictReader(open('sales.csv')))\nmonths, sales = [r['month'] for r in rows], [int(r['sales']) for r in rows]\nsum(sales)"}}]}
  - reply: {tool_calls: [{name: ipython, arguments: {code: "%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.figure(figsize=(4, 2.5)); plt.bar(months, sales); plt.title('Sales'); plt.savefig('sales.png'); plt.show()"}}]}
  - reply: {tool_calls: [{name: ipython, arguments: {code: "import os; os._exit(9)"}}]}
  - reply: {tool_calls: [{name: ipython, arguments: {code: "'sales' in globals()"}}]}
  - reply: {tool_calls: [{name: finish, arguments: {message: "62 in three months; the plot is in sales.png."}}]}
END2
  show 'deft run --tool ipython --net=pypi --env "PATH=$PWD/.venv/bin:/usr/bin:/bin" "plot sales.csv by month"'
  cp sales.png "$here/extensions.png"

  situation "A hook stops git push to main; the model reads why, and pushes a branch" <<'END2'
turns:
  - reply: {tool_calls: [{name: terminal, arguments: {command: "git push origin main"}}]}
  - reply: {tool_calls: [{name: terminal, arguments: {command: "git switch -q -c fix && git push -q origin fix && git branch -r"}}]}
  - reply: {tool_calls: [{name: finish, arguments: {message: "Pushed as the branch fix: nothing is pushed to main."}}]}
END2
  mkdir -p "$HOME/.openhands"
  cat >"$HOME/.openhands/hooks.json" <<'END2'
{"hooks": {"PreToolUse": [{"matcher": "terminal", "hooks": [
  {"command": "grep -q 'push.* main' || exit 0; echo 'nothing is pushed to main: push a branch' >&2; exit 2"}]}]}}
END2
  show 'cat ~/.openhands/hooks.json'
  show 'deft run --write "$PWD/../remote" "push the work"'
  show 'git ls-remote --heads origin'
} | sed "s,$tmp/home,/home/you,g; s,$ws,/home/you/work,g" | tee "$here/extensions.txt"
