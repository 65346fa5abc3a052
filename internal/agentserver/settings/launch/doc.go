// Package launch makes the agent that a conversation starts with, in two
// stages: Resolve turns what a start request names (an agent, settings, or a
// saved profile) into settings without references, and Finalize turns those
// into an agent for the place where it will run (sdk-features-1.58.md
// section 3, "Launch pipeline").
//
// # Usage
//
//	r, err := launch.Resolve(ctx, launch.Source{ProfileID: id}, stores)
//	a, err := launch.Finalize(r, launch.Runtime{Memory: true})
//	if r.Profile.Allows("GITHUB_TOKEN") { … }
//
// [Preview] says what a launch of a profile would make, without starting it.
//
// # Concurrency
//
// Everything is safe for concurrent use; a Resolved does not change.
//
// # Failure
//
// Errors are those of rest, ready to be answered: 404 for an unknown profile,
// 422 with {code, message} (codes invalid_agent_launch and
// unresolved_profile_references, the latter with every dangling reference at
// once) or with violations, 503 while a store is busy, 500 if it cannot be
// read.
package launch
