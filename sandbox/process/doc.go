// Package process is the built-in sandbox: Linux namespaces, Landlock and
// seccomp around one program, without a daemon, an image or a helper binary.
//
// # Usage
//
//	func main() {
//		process.MaybeInit() // first statement: the binary is its own init stage
//		…
//		p, err := process.New(process.Options{Dir: dir})
//		s, err := p.Start(ctx, sandbox.Spec{ID: id, Argv: argv, Workspace: ws})
//		conn, err := s.Dial(ctx)
//	}
//
// The program runs as process 1 of its own PID namespace, with a listening
// socket as descriptor 3, its journal as descriptor 4, /dev/null as input and
// Dir/<id>/log as output. As process 1 it cannot be signaled from inside, except
// by its own process group: it must start commands in groups of their own. It
// must reap orphans, and should call PR_SET_DUMPABLE with 0 before it runs
// anything, so that nothing else in the sandbox can read its memory and
// environment.
//
// # What is inside
//
// The system's directories, read-only; /proc of its own, a minimal /dev, empty
// /tmp, /var/tmp, /run and /dev/shm in memory. Of the home directory only
// toolchains are shown (see visible.go), read-only, in a home that is otherwise an
// empty private one: new files can be written there and are deleted with the
// sandbox. All other directories of the root, known locations of secrets, the
// Options.Dir and Spec.Hidden are empty. The workspace is writable at its own
// path; the Spec's grants (grant.go) and the repository around the workspace
// (repository.go) appear at theirs. Without Spec.Network there is only a loopback
// interface of the sandbox's own. With it, a second process, which runs outside
// and ends with the sandbox, is an HTTP proxy on that interface (see
// sandbox/internal/egress); nothing else leaves.
//
// If user namespaces are refused, Start falls back to Landlock and seccomp: the
// same files, by rules instead of mounts; no process list of its own; without
// Spec.Network no Internet sockets at all, with it TCP to the proxy only, and no
// list of hosts; never UNIX sockets. Report says which
// level is in force and why. Known limits of both: a secret file outside the
// home that the host replaces by renaming while the sandbox runs becomes
// visible, and secrets in unusual locations are as readable as to the user.
//
// # Concurrency and failure
//
// Provider and its sandboxes are safe for concurrent use, also by several
// processes sharing Dir: a lock file per sandbox orders them. A sandbox
// outlives the process that started it. Close ends the Provider's own
// goroutines, not the sandboxes. Errors carry the kinds that package sandbox names;
// a failure of the init stage names the step and the system's error.
package process
