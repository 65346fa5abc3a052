#!/usr/bin/env bash
# Regenerates daily.txt, 30 situations of a day, with the real program and a scripted model:
#   docs/show/daily.sh [path of deft]
# Needs git and python3. Each situation has a repository, a port and answers of its own.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
deft=${1:-$root/bin/deft}
tmp=$(mktemp -d)
mkdir -p "$tmp/home/work"
export NO_COLOR=1 HOME=$tmp/home XDG_DATA_HOME=$tmp/home/.local/share XDG_CONFIG_HOME=$tmp/home/.config PATH=$(dirname "$deft"):$PATH
export GIT_AUTHOR_NAME=you GIT_AUTHOR_EMAIL=you@localhost GIT_COMMITTER_NAME=you GIT_COMMITTER_EMAIL=you@localhost
unset LLM_MODEL LLM_BASE_URL LLM_API_KEY OPENAI_API_KEY ANTHROPIC_API_KEY DEFT_DATA
. "$here/scripted.sh"
cleanup() {
  kill ${llm:+"$llm"} 2>/dev/null || true
  wait 2>/dev/null || true
  chmod -R u+w "$tmp" && rm -rf "$tmp"
}
trap cleanup EXIT

number=0
# Begins a situation in a new repository. The model's turns are on standard input.
situation() {
  number=$((number + 1))
  printf '\n## %d. %s\n\n' "$number" "$1"
  rm -rf "$HOME/work" "$XDG_DATA_HOME" && mkdir -p "$HOME/work/app" && cd "$HOME/work/app"
  git init -q && echo 'An app.' >README.md && git add -A && git commit -qm begin
  cat >"$tmp/turns.yaml"
  if [[ -s $tmp/turns.yaml ]]; then model "$tmp/turns.yaml"; fi
}

{
  echo "# A day with deft: situations in which agents lose work, mislead or stop. Each is run by daily.sh"
  echo "# with a scripted model and without a terminal."

  situation "A model writes half a surrogate pair: the file and the next request are well-formed" <<'END'
turns:
  - reply: {tool_calls: [{name: terminal, raw_arguments: '{"command": "echo A\ud99cB >odd.txt; cat odd.txt"}'}]}
  - reply: {tool_calls: [{name: finish, arguments: {message: written}}]}
  - reply: {tool_calls: [{name: finish, arguments: {message: still here}}]}
END
  show 'deft run "write odd.txt"'
  show 'deft run -q --resume last "are you there?"'

  situation "A model writes its call as text: it is run" <<'END'
turns:
  - reply: {text: "I look.\n<function_calls><invoke name=\"terminal\"><parameter name=\"command\">cat README.md</parameter></invoke></function_calls>"}
  - reply: {tool_calls: [{name: finish, arguments: {message: "It is an app."}}]}
END
  show 'deft run "what is this?"'

  situation "It writes a call of a tool that does not exist: it is asked again, then the run ends in an error" <<'END'
turns:
  - {repeat: 4, reply: {text: "<tool_call>{\"name\":\"fly\",\"arguments\":{}}</tool_call>"}}
END
  show 'deft run -q "fly"'

  situation "The agent asks and there is no terminal: the exit code and the last line say so" <<'END'
turns:
  - {reply: {text: "Which of the two tests do you mean?"}}
  - {reply: {tool_calls: [{name: finish, arguments: {message: the first is mended}}]}}
END
  show 'deft run "mend the test"'
  show 'deft run -q --resume last "the first"'

  situation "A server takes no pictures: the conversation goes on without them" <<'END'
turns:
  - {reply: {tool_calls: [{name: file_editor, arguments: {command: view, path: "{{find \"/[^ ]*dot.png\" .LastUser}}"}}]}}
  - {fault: {kind: bad_request, message: "messages[3]: unknown variant `image_url`, expected `text`"}}
  - {reply: {tool_calls: [{name: finish, arguments: {message: "I cannot see it."}}]}}
END
  printf iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC | base64 -d >dot.png
  show 'deft run "look at $PWD/dot.png"'

  situation "An MCP server prints log lines between its messages: its tools work" <<'END'
turns:
  - {reply: {tool_calls: [{name: greet, arguments: {}}]}}
  - {reply: {tool_calls: [{name: finish, arguments: {message: greeted}}]}}
END
  cat >server.py <<'END'
import json, sys
for line in sys.stdin:
    print('{"level":"info","msg":"got a line"}', flush=True)
    q = json.loads(line)
    if 'id' not in q: continue
    r = {'initialize': {'protocolVersion': '2025-06-18', 'capabilities': {'tools': {}}, 'serverInfo': {'name': 'greeter', 'version': '1'}},
         'tools/list': {'tools': [{'name': 'greet', 'inputSchema': {'type': 'object'}}]},
         'tools/call': {'content': [{'type': 'text', 'text': 'good morning'}]}}.get(q['method'], {})
    print('[1,2]', flush=True)
    print(json.dumps({'jsonrpc': '2.0', 'id': q['id'], 'result': r}), flush=True)
END
  echo '{"mcpServers":{"greeter":{"command":"python3","args":["server.py"]}}}' >../servers.json
  show 'deft run --mcp-config ../servers.json "greet me"'

  situation "A byte order mark before the variables" <<'END'
turns:
  - {reply: {tool_calls: [{name: terminal, arguments: {command: "echo $STAGE"}}]}}
  - {reply: {tool_calls: [{name: finish, arguments: {message: done}}]}}
END
  printf '\xef\xbb\xbfSTAGE=test\n' >.env
  show 'deft run --env-file .env "which stage?"'

  situation "A skill with a colon in its description, and AGENTS.md with a Latin-1 byte: both are read" <<'END'
turns:
  - {match: {system: "Use when: needed"}, reply: {tool_calls: [{name: finish, arguments: {message: "{{if find \"na.ve\" .System}}both{{else}}the skill only{{end}}"}}]}}
  - {reply: {tool_calls: [{name: finish, arguments: {message: "neither"}}]}}
END
  mkdir -p .agents/skills/release
  printf -- '---\nname: release\ndescription: Releases a version. Use when: needed.\n---\nTag it.\n' >.agents/skills/release/SKILL.md
  printf 'Keep it na\xefve.\n' >AGENTS.md
  show 'deft run "what did you read?"'

  situation "CLAUDE.md and .claude/skills are for every model" <<'END'
turns:
  - {match: {system: badgers}, reply: {tool_calls: [{name: finish, arguments: {message: "CLAUDE.md{{if find \"stoats\" .System}} and the skill{{end}}"}}]}}
  - {reply: {tool_calls: [{name: finish, arguments: {message: "nothing"}}]}}
END
  echo 'Indent with badgers.' >CLAUDE.md
  mkdir -p .claude/skills/count && printf -- '---\nname: count\ndescription: Count stoats.\n---\nCount them.\n' >.claude/skills/count/SKILL.md
  show 'deft run -q "what did you read?"'

  situation "A build log of 3 MB with odd bytes on standard input" <<'END'
turns:
  - {reply: {tool_calls: [{name: finish, arguments: {message: "{{if find \"error: no semicolon\" .LastUser}}The last line names a missing semicolon.{{else}}I see no error.{{end}}"}}]}}
END
  show '{ seq -f "compiling file %g" 150000; printf "\xff\nerror: no semicolon\n"; } | deft run "why does it fail?"'

  situation "The model writes a secret itself: it is masked wherever it is shown or stored" <<'END'
turns:
  - {reply: {text: "The token is tok-4711-secret.", tool_calls: [{name: terminal, arguments: {command: "echo tok-4711-secret | wc -c"}}]}}
  - {reply: {tool_calls: [{name: finish, arguments: {message: "tok-4711-secret works"}}]}}
END
  show 'TRACKER_TOKEN=tok-4711-secret deft run --secret-env TRACKER_TOKEN "try the token"'
  show 'deft conversations show --json last | grep -c tok-4711'
  show 'grep -rc tok-4711 "$XDG_DATA_HOME" | grep -v ":0$"'

  situation "A spending limit holds when the conversation is resumed" <<'END'
turns:
  - {repeat: forever, reply: {tool_calls: [{name: terminal, arguments: {command: "seq 1 500"}}], usage: {input: 20000, output: 1000}}}
END
  show 'deft run -q --max-cost 0.5 --input-price 10 --output-price 10 "go on for ever"'
  show 'deft run -q --resume last "go on"'

  situation "\`last\` is the last conversation of this directory" <<'END'
turns:
  - {repeat: forever, reply: {tool_calls: [{name: finish, arguments: {message: done}}]}}
END
  mkdir ../other
  show 'deft run -q "here"'
  show '(cd ../other && deft run --resume last "there")'
  show '(cd ../other && deft conversations list)'
  show 'deft conversations delete last'

  situation "A space instead of = before the hosts: nothing is opened by mistake" </dev/null
  show 'deft run --net go "fetch the modules"'
  show 'deft run --net=gopher "fetch the modules"'

  situation "doctor, with the binary in the home directory" </dev/null
  cp "$deft" "$HOME/deft"
  show '~/deft doctor --sandbox namespaces 2>&1 | grep -i -A1 sandbox'
  rm "$HOME/deft"

  situation "A write to the home directory, which is the sandbox's own, says so and names the flag" <<'END'
turns:
  - {reply: {tool_calls: [{name: terminal, arguments: {command: "echo kept >~/notes.txt"}}]}}
  - {reply: {tool_calls: [{name: finish, arguments: {message: I could not write them}}]}}
END
  show 'deft run "write notes"'

  situation "A path that is hidden from the agent: you read why, not only the model" <<'END'
turns:
  - {reply: {tool_calls: [{name: file_editor, arguments: {command: view, path: "{{find \"/[^ ]*plan.txt\" .LastUser}}"}}]}}
  - {reply: {tool_calls: [{name: finish, arguments: {message: I may not read it}}]}}
END
  echo plan >"$HOME/plan.txt"
  show 'deft run "read $HOME/plan.txt"'

  situation "Git works in a submodule" <<'END'
turns:
  - {reply: {tool_calls: [{name: terminal, arguments: {command: "git log --oneline | wc -l; git status --short"}}]}}
  - {reply: {tool_calls: [{name: finish, arguments: {message: one commit}}]}}
END
  git init -q ../library && git -C ../library commit -q --allow-empty -m library
  git -c protocol.file.allow=always submodule --quiet add ../library library
  show 'cd library && deft run "how many commits?"'

  situation "A clone that borrows its objects: the agent and you read which flag shows them" <<'END'
turns:
  - {reply: {tool_calls: [{name: terminal, arguments: {command: "git log --oneline"}}]}}
  - {reply: {tool_calls: [{name: finish, arguments: {message: I cannot see them}}]}}
END
  git clone -q --shared . ../borrowed
  show 'cd ../borrowed && deft run "how many commits?"'

  situation "A server that the agent started ends with the run, and that is said" <<'END'
turns:
  - {reply: {tool_calls: [{name: terminal, arguments: {command: "sleep 1000 >/dev/null 2>&1 </dev/null & until grep -q ^sleep /proc/$!/cmdline; do :; done"}}]}}
  - {reply: {tool_calls: [{name: finish, arguments: {message: it serves}}]}}
END
  show 'deft run "start the server"'

  situation "Searches and the plan are words, not JSON" <<'END'
turns:
  - reply:
      tool_calls:
        - {name: task_tracker, arguments: {command: plan, task_list: [{title: look, notes: "", status: in_progress}]}}
        - {name: glob, arguments: {pattern: "**/*.md"}}
        - {name: grep, arguments: {pattern: "app"}}
  - {reply: {tool_calls: [{name: finish, arguments: {message: found}}]}}
END
  show 'deft run "search"'

  situation "A sub-agent is shown as it works, and listed under its parent" <<'END'
turns:
  - match: {user: look around}
    reply: {tool_calls: [{name: task, arguments: {prompt: count the files}}]}
  - match: {user: count the files}
    reply: {tool_calls: [{name: terminal, arguments: {command: ls}}]}
  - match: {user: count the files}
    reply: {tool_calls: [{name: finish, arguments: {message: one file}}]}
  - match: {user: look around}
    reply: {tool_calls: [{name: finish, arguments: {message: there is one file}}]}
END
  show 'deft run "look around"'
  show 'deft conversations list'

  situation "undo keeps what you changed after the agent, and names it" <<'END'
turns:
  - {reply: {tool_calls: [{name: terminal, arguments: {command: "echo agent >>README.md; echo new >added.txt"}}]}}
  - {reply: {tool_calls: [{name: finish, arguments: {message: changed}}]}}
END
  show 'deft run -q "change"'
  echo 'by hand' >notes.txt
  show 'deft undo --yes'
  show 'git status --short'

  situation "The same run again, from its recording" <<'END'
turns:
  - {reply: {tool_calls: [{name: terminal, arguments: {command: "ls; wc -c README.md"}}]}}
  - {reply: {tool_calls: [{name: finish, arguments: {message: listed}}]}}
END
  show 'deft run -q "list"'
  show 'deft conversations export last -o ../recorded.json'
  show 'deft run --replay ../recorded.json'

  situation "A task that begins with a dash" <<'END'
turns:
  - {reply: {tool_calls: [{name: finish, arguments: {message: "{{if find \"fix foo\" .LastUser}}foo is fixed{{end}}"}}]}}
END
  show 'deft run -q "- fix foo"'

  situation "Mistakes in flags say what is meant" </dev/null
  show 'deft run --memory 10 "x"'
  show 'deft run --resume "" "x"'
  show 'deft'

  situation "The key of a provider is enough" </dev/null
  unset LLM_MODEL LLM_BASE_URL LLM_API_KEY
  show 'ANTHROPIC_API_KEY=x deft doctor 2>&1 | grep -E "model|key"'

  situation "Hooks that do not run are named" <<'END'
turns:
  - {reply: {tool_calls: [{name: finish, arguments: {message: done}}]}}
END
  mkdir .openhands && echo '{"hooks":{"PreToolUse":[{"matcher":"*","hooks":[{"type":"command","command":"true"}]}]}}' >.openhands/hooks.json
  show 'deft run "go"'

  situation "Servers of the project's .mcp.json wait for your word" <<'END'
turns:
  - {reply: {tool_calls: [{name: finish, arguments: {message: done}}]}}
END
  echo '{"mcpServers":{"tracker":{"command":"python3","args":["tracker.py"]}}}' >.mcp.json
  show 'deft run "go"'

  situation "kill -9 in the middle: nothing that was shown is lost" <<'END'
turns:
  - {reply: {tool_calls: [{name: terminal, arguments: {command: "echo one >one.txt"}}]}}
  - {reply: {tool_calls: [{name: terminal, arguments: {command: "touch begun; sleep 2; echo two >two.txt"}}]}}
  - {reply: {tool_calls: [{name: finish, arguments: {message: both are there}}]}}
END
  echo '$ deft run "write two files" &'
  "$deft" run "write two files" >"$tmp/first" 2>&1 </dev/null &
  run=$!
  until [[ -e begun ]]; do kill -0 "$run" || exit 1; sleep 0.02; done
  echo '$ kill -9 $!'
  kill -9 "$run"
  wait "$run" 2>/dev/null || true
  cat "$tmp/first"
  show 'deft run --resume last'
  show 'cat one.txt two.txt'
} >"$tmp/out"
# Directories and ids differ from run to run.
sed -E "s#$tmp/home#/home/you#g; s#$tmp#/tmp#g; s/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/5b1e…/g" "$tmp/out" >"$here/daily.txt"
