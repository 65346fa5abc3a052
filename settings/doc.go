// Package settings keeps users' configuration: settings of agents and
// conversations, secrets, LLM profiles, agent profiles, meta-profiles and provider
// connections (docs/openhands/sdk-wire.md section 10,
// docs/openhands/sdk-wire-1.58.md section C.4). All of it is in files of the
// reference's formats, so that either server reads the other's files. The routes
// are in server/agentserver/settings.
//
// # Usage
//
//	s, err := settings.Open(ctx, settings.Options{Dir: dir, Keys: ring})
//	doc, err := s.Load()                     // settings
//	value, err := s.Secret(ctx, "GITHUB_TOKEN")
//	l, err := s.Profiles.LLMs.Load(ctx, "fast")
//	agent, err := s.Launch(ctx, source, runtime) // of a new conversation
//
// # Concurrency
//
// Everything is safe for concurrent use, between processes as well.
//
// # Failure
//
// A file that cannot be read is treated as if nothing were set, and is never
// written over: changes are refused with [ErrBlocked] until the key is back or
// the file is gone. Errors carry kinds of package fault or are
// schema.Violations; [ErrInvalid] is a change of settings that does not fit.
package settings
