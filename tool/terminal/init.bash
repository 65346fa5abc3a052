set +o history +H
PS1= PS2= PS4='+ '
export -n PS1 PS2
unset PROMPT_COMMAND PS0 HISTFILE MAILCHECK TMOUT
history -c
exec 230<&1 231>&3 232</dev/null 3>&-
# 4 is the file for the EXIT trap. Programs must not get it: 233 is where bash keeps it
# meanwhile, marked close-on-exec, and 240 becomes a copy with that mark.
{ exec 240>&233; } 4<&232
exec 4>&-
__deft_forget() { :; }
__deft_status() { return "$1"; }
trap '{ __deft_forget; \builtin printf "%s\0" "$PWD"; \builtin declare -px; } >&240 2>/dev/null' EXIT
