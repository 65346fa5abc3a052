package standard

import (
	"strings"

	"github.com/deft-dev/deft/internal/lazyregexp"
)

// killed is the exit code of a command that SIGKILL has ended, as the kernel does above a limit on memory.
const killed = 137

// noProcess finds the message of a program that may start no process or thread.
var noProcess = lazyregexp.New(`(?i)(fork|spawn|clone|thread|exec)[^\n]*resource temporarily unavailable|can't start new thread|failed to create new OS thread`)

// limitHint says, after the output of a command, which limit of the sandbox it seems to have reached, and which flag
// raises it; "" for none.
func limitHint(command, output string, status int) string {
	switch end := output[max(0, len(output)-hintRange):]; {
	case noProcess().MatchString(end):
		return "The sandbox may have no more processes and threads. The user can allow more with deft's flag --pids."
	case status == killed && !strings.Contains(command, "kill"):
		return "It was killed, maybe because the sandbox may use no more memory. The user can allow more with deft's flag --memory."
	}
	return ""
}
