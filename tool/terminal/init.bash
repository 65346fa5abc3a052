set +o history +H
PS1= PS2= PS4='+ '
export -n PS1 PS2
unset PROMPT_COMMAND PS0 HISTFILE MAILCHECK TMOUT
history -c
exec 230<&1 231>&3 232</dev/null 3>&-
__deft_status() { return "$1"; }
trap '{ \builtin printf "%s\0" "$PWD"; \builtin declare -px; } >|"$__deft_exit" 2>/dev/null' EXIT
