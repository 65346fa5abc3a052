package terminal

import (
	_ "embed"
	"strconv"
	"strings"
)

// shellSyntax has the differences between shells.
type shellSyntax interface {
	// begin is the first input of a new shell.
	begin() string
	// script is the input for one command; status is the value of $? at its beginning.
	// At the end it reports and writes the marker with the nonce.
	script(command, nonce string, status int) string
	// report is the end of a script: the shell's status, then the marker.
	report(nonce string) string
	// discards reports whether the shell discards at C-c the input that it has read from
	// its pipe, the end of a script included.
	discards() bool
	// export puts variables into the environment for the next command, without a trace;
	// names and values come from exporting. What the command itself changed stays.
	export(assignments []string) string
}

//go:embed init.bash
var bashBegin string

// bash is the shell that the tool promises.
type bash struct{}

func (bash) begin() string { return bashBegin }

// restoreState is a script that resets, after a command, options and traps that
// would print the lines between two commands or end the shell there.
const restoreState = `{ __deft_s=$?; \builtin set +euxv; \builtin trap - DEBUG RETURN ERR; PS1= PS2=; \builtin unset PROMPT_COMMAND PS0; __deft_forget; __deft_forget() { :; }; } >/dev/null 2>&1`

// script implements shellSyntax. The empty line makes bash forget a syntax error in the command,
// and the last line runs even if the first was cut short by C-c. The nonce is
// only in the last line, which no program sees before it runs.
//
// While the command runs, its fd 0 is the terminal, and the session's own
// descriptors (230: terminal, 231: report) are /dev/null (232), so that no program
// holds or writes them. Copying from a high descriptor makes bash keep the
// descriptors it must restore above it, where no script's `exec 10>…` or `exec
// 200>…` overwrites it. The file for the EXIT trap (240) closes when a program
// starts.
func (bash) script(command, nonce string, status int) string {
	return `{ __deft_status ` + strconv.Itoa(status) + `; \builtin eval ` + quote(command) + `
` + restoreState + `; __deft_status "$__deft_s"; } 0<&230 230<&232 231<&232
` + bash{}.report(nonce)
}

func (bash) report(nonce string) string {
	return `
` + restoreState + `; \builtin printf '%s\0%s\0%s\0%s\0%s\0' ` + nonce +
		` "$__deft_s" "$!" "$PWD" "${PATH:0:8192}" >&231; \builtin printf '\e_DEFT%s\e\\' ` + nonce + " >&230\n"
}

func (bash) discards() bool { return false }

// export ends tracing and echo with its first line, and keeps the second out of the
// history, as far as the user has turned these on. They must be two lines, because bash
// puts a line into the history before it runs it.
func (bash) export(assignments []string) string {
	var text strings.Builder
	text.WriteString(forgetting("\\builtin unset -v ", assignments))
	for _, a := range assignments {
		text.WriteString("\\builtin export " + a + "; ")
	}
	return `{ \builtin set +xv; [[ -o history ]]; __deft_h=$?; \builtin set +o history; } >/dev/null 2>&1
{ ` + text.String() + `((__deft_h)) || \builtin set -o history; } >/dev/null 2>&1
`
}
