// Package profiles keeps users' named settings: LLM profiles, agent profiles,
// meta-profiles, and the provider connections that LLM profiles share
// (docs/openhands/sdk-wire.md section 10, docs/openhands/sdk-wire-1.58.md section
// C.4). The files have the reference's formats, so that either server reads the
// other's files.
//
// # Usage
//
//	stores := profiles.Open(profiles.Options{Dir: dir, Keys: ring})
//	err := stores.LLMs.Save(ctx, "fast", l, true)
//	l, err := stores.LLMs.Load(ctx, "fast") // with its connection resolved
//	err = stores.DeleteLLM(ctx, "fast")     // refused while agent profiles name it
//
// # Concurrency
//
// Everything is safe for concurrent use, between processes as well. A caller that
// needs two locks takes the lock of agent profiles first.
//
// # Failure
//
// Errors carry kinds: NotFound, Conflict (a name is taken, a limit is reached,
// something is still referenced), Invalid for names and files that cannot be
// read, Unavailable while another process holds a lock.
// spec.DanglingError says that a connection is gone.
package profiles
