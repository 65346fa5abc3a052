PS1= PS2= PS4='+ '
unset PROMPT_COMMAND PS0 HISTFILE MAILCHECK TMOUT
set +o history +H
exec 198<&1 199>&3 3>&-
__deft_status() { return "$1"; }
