package ahead

import (
	"slices"
	"strings"
)

// unwanted are variables that would make bash run or print something by itself.
var unwanted = []string{
	"PROMPT_COMMAND", "PS0", "PS1", "PS2", "PS4", "ENV", "BASH_ENV", "SHELLOPTS", "BASHOPTS",
	"BASH_XTRACEFD", "HISTFILE", "TMOUT", "MAILCHECK", "POSIXLY_CORRECT",
}

// defaults keep programs from waiting for a person: pagers pass text through, and
// git and apt do not open dialogs.
var defaults = []string{
	"TERM=xterm-256color", "PAGER=cat", "GIT_PAGER=cat", "MANPAGER=cat", "SYSTEMD_PAGER=cat",
	"GH_PAGER=cat", "AWS_PAGER=", "LESS=-FR", "PIP_PROGRESS_BAR=off",
}

// Disturbs reports whether a variable of this name would make a shell run or print something
// by itself.
func Disturbs(name string) bool { return slices.Contains(unwanted, name) }

// environment is the environment of the shell: the caller's, without variables that
// would disturb the session, and with defaults for those that it does not set.
func environment(env []string) []string {
	out := []string{"PS1=", "PS2=", "HISTFILE="} // empty: the user's history is not read
	seen := map[string]bool{}
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		seen[name] = true
		if !Disturbs(name) {
			out = append(out, kv)
		}
	}
	for _, kv := range defaults {
		if name, _, _ := strings.Cut(kv, "="); !seen[name] {
			out = append(out, kv)
		}
	}
	return out
}
