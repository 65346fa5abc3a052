package process

import "github.com/deft-dev/deft/sandbox/internal/signalscope"

// Command returns the path and the arguments that start a program so that neither
// it nor its children can signal the process that calls this, by whatever id: a
// signal to one thread can end the whole process. For the sandbox's own program.
//
// That needs Landlock ABI 6. On older kernels the server of a PID namespace has another
// protection, which cannot replace this one: it takes all signals that it can and does
// nothing (runtime/actionserver, Options.IgnoreSignals), but there are signals that no
// program can take, and without a PID namespace it needs SIGTERM to learn of the end.
func Command(path string, args []string) (string, []string) { return signalscope.Command(path, args) }
