// Package bash runs shell commands for clients of the Agent Server, outside any
// conversation's event stream, and keeps their output.
//
// # Usage
//
//	s, err := bash.Open(bash.Options{Dir: cfg.BashEventsDir})
//	defer s.Close()
//	cmd, err := s.Start(bash.Request{Command: "make test", Timeout: 300})
//	…
//	f, err := s.Subscribe(bash.FromNow)
//	for { e, err := f.Next(ctx) … } // each event as JSON, in order
//
// A command is a BashCommand event followed by BashOutput events in rising order,
// the last of which has an exit code (docs/openhands/sdk-wire.md section
// 10). [Scopes] gives each conversation a history of its own.
//
// # Concurrency
//
// Everything is safe for concurrent use. A follower is a cursor into the index, so
// a slow one delays no other and takes no memory. Each MiB of output is written to
// a file; in memory are the index (some hundred bytes for each event) and the rest
// of the running commands' output.
//
// # Failure
//
// A command that cannot be started ends with exit code -1 and the reason in stderr.
// If output cannot be stored (a full disk), the command still ends visibly: its
// last event says so and is kept in memory. Close kills running commands and waits
// for them.
package bash
