# The other scripts of this folder source this: a scripted model, and commands that are shown as
# they run. Needs $deft, the program, and $tmp, a directory of the script.

llm=
# Starts a scripted model with the turns of a file, in place of the former one. Its id is in $llm.
model() {
  if [[ -n $llm ]]; then kill "$llm" && wait "$llm" 2>/dev/null || true; fi
  rm -f "$tmp/llm.log"
  "$deft" dev scripted-llm "$1" --addr 127.0.0.1:0 >"$tmp/llm.log" 2>&1 &
  llm=$!
  until grep -qs "deft run" "$tmp/llm.log"; do
    kill -0 "$llm" 2>/dev/null || { cat "$tmp/llm.log" >&2; exit 1; }
    sleep 0.02
  done
  export LLM_MODEL=openai/scripted LLM_API_KEY=none
  LLM_BASE_URL=$(sed -n 's/^listening on //p' "$tmp/llm.log")/v1
  export LLM_BASE_URL
}

# Shows a command, runs it here without a terminal, and shows its exit code unless it is 0.
show() {
  echo "\$ $*"
  local code=0
  eval "$*" </dev/null >"$tmp/shown" 2>&1 || code=$?
  cat "$tmp/shown"
  if ((code)); then echo "(exit $code)"; fi
}
