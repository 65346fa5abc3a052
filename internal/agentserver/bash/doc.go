// Package bash runs shell commands for clients of the Agent Server, outside
// any conversation's event stream, and keeps what they printed.
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
// A command is a BashCommand event followed by BashOutput events with rising
// order, the last of which has an exit code (docs/openhands/sdk-wire.md section
// 10). [Scopes] gives each conversation a history of its own.
//
// # Concurrency
//
// Everything is safe for concurrent use. A follower is a cursor into the index
// and a wake-up, so a slow one holds up nobody and costs no memory. Output is
// written to a file for every MiB; what is held in memory is the index (some
// hundred bytes for each event) and the rest of the running commands' output.
//
// # Failure
//
// A command that cannot be started is a command that ends with exit code -1
// and says why in stderr. If an output cannot be stored (a full disk), the
// command still ends visibly: its last event says so and lives in memory.
// Close kills what still runs and waits for it.
package bash
