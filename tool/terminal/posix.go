package terminal

import (
	_ "embed"
	"strconv"
	"strings"
)

//go:embed init.sh
var posixBegin string

// posix is the syntax for images without bash: POSIX, as dash and busybox read it. They
// have no high descriptors: the terminal is 7, the report 8, /dev/null 9, and the file
// for the EXIT trap 6.
type posix struct{}

func (posix) begin() string { return posixBegin }

// script implements shellSyntax. At an error the shell would discard the input that it
// has read, the end of the script included; "command" keeps errors inside the eval. At
// C-c it does so all the same, and $? is then the shell's own.
func (posix) script(command, nonce string, status int) string {
	return `__deft_s=; { __deft_status ` + strconv.Itoa(status) + `; command eval ` + quote(command) + `
} 0<&7 6<&9 7<&9 8<&9
` + posix{}.report(nonce)
}

// report repeats a marker whose write failed: the end of a job interrupts writes of busybox to
// the terminal, and it does not repeat them itself.
func (posix) report(nonce string) string {
	return `
__deft_s=${__deft_s:-$?}; { set +euxv; PS1= PS2=; __deft_forget; __deft_forget() { :; }; } >/dev/null 2>&1; command printf '%s\000%s\000%s\000%s\000%s\000' ` + nonce +
		` "$__deft_s" "$!" "$PWD" "$PATH" >&8; until command printf '\033_DEFT%s\033\\' ` + nonce + " >&7; do :; done\n"
}

func (posix) discards() bool { return true }

func (posix) export(assignments []string) string {
	var text strings.Builder
	text.WriteString(forgetting("command unset -v ", assignments))
	for _, a := range assignments {
		text.WriteString("export " + a + "; ")
	}
	return "{ set +xv; " + text.String() + "} >/dev/null 2>&1\n"
}
