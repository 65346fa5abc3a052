// Package agentsettings describes the settings of agents and conversations: a
// user's input on the settings pages, the result of resolving profiles, and the
// parts of an agent at launch (docs/openhands/sdk-wire.md section 10,
// docs/openhands/sdk-wire-1.58.md section C.4).
//
// # Usage
//
//	doc, err := agentsettings.Validate(raw, how)
//	doc, err = agentsettings.Apply(doc, diff, how)
//	agent, err := agentsettings.Agent(doc, preset)
//	page := agentsettings.AgentPage()
//
// Settings are documents (package schema) of one of two kinds, "openhands" and
// "acp". Documents of other schema versions are refused.
//
// # Concurrency
//
// Nothing here has state; documents belong to their owner and are not changed.
//
// # Failure
//
// Errors are schema.Violations or schema.ErrSealed.
package agentsettings
