PS1= PS2= PS4='+ '
unset MAIL MAILPATH HISTFILE TMOUT
exec 1>&2 7<&2 8>&3 6>&4 9</dev/null 0<&9 3>&- 4>&-
__deft_forget() { :; }
__deft_status() { return "$1"; }
trap '{ __deft_forget; command printf "%s\000" "$PWD"; export -p; } >&6 2>/dev/null' 0
