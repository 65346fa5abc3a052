// Package launch makes the agent that a conversation starts with, in two stages:
// Resolve turns a start request's names (an agent, settings, or a saved profile)
// into settings without references, and Finalize turns those into an agent for its
// place (docs/openhands/sdk-features-1.58.md section 3, "Launch pipeline").
//
// # Usage
//
//	r, err := launch.Resolve(ctx, launch.Source{ProfileID: id}, stores)
//	a, err := launch.Finalize(r, launch.Runtime{Memory: true})
//	if r.Profile.Allows("GITHUB_TOKEN") { … }
//
// [Preview] describes the result of launching a profile, without starting it.
//
// # Concurrency
//
// Everything is safe for concurrent use; a Resolved does not change.
//
// # Failure
//
// An [Error] is a launch that cannot be made as requested, with a detail for
// clients: codes invalid_agent_launch and
// unresolved_profile_references, the latter with every dangling reference at
// once. Requests that contradict themselves are schema.Violations. Other errors
// have the kinds NotFound for an unknown profile, Unavailable while a store is
// busy, and Corrupt if it cannot be read.
package launch
