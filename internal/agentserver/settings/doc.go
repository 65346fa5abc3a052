// Package settings is the room of what users configure: agent and conversation
// settings, secrets, LLM profiles, agent profiles, meta-profiles and provider
// connections, with their routes (sdk-wire.md section 10, sdk-wire-1.58.md
// section C.4). All of it is in files of the reference's formats.
//
// # Usage
//
//	s, err := settings.Open(ctx, settings.Options{Dir: dir, Keys: ring})
//	routes := s.Routes()
//	doc, err := s.Load()                     // settings
//	value, err := s.Secret(ctx, "GITHUB_TOKEN")
//	stores, err := s.LaunchStores()          // for package launch
//
// # Concurrency
//
// Everything is safe for concurrent use, between processes as well.
//
// # Failure
//
// A file that cannot be read is answered as if nothing were set, and never
// written over: changes are refused with Conflict until the key is back or the
// file is gone.
package settings
