// Package security says how dangerous actions are and whether they wait for
// the user.
//
// # Usage
//
//	analyzer, err := security.ParseAnalyzer(raw) // nil for none
//	policy, err := security.ParsePolicy(raw)
//	ev, wait := security.Review(ctx, analyzer, policy, batch)
//
// An [Analyzer] rates each action of a batch, and a [Policy] decides from the
// ratings whether the batch waits for the user. If one action must be confirmed,
// the whole batch waits; a single finish or think action never does. Without an
// analyzer every risk is UNKNOWN. Names and JSON follow openhands-sdk 1.58.
//
// # The analyzers
//
// [Model] uses the model's own rating. [Patterns] searches texts for
// signatures. [Rails] reads shell commands as bash would and finds a few
// structures that are hardly ever intended. A [Service] asks another model or a
// server; [Connect] gives it one. [Ensemble] combines several. None of them is a
// sandbox: they find obvious dangers, so that a person looks.
//
// # Concurrency
//
// Analyzers and policies do not change and are safe for concurrent use.
//
// # Failure
//
// An analyzer that fails or panics rates HIGH, a service that fails UNKNOWN, with the
// error in the details.
// Invalid documents are errors of kind fault.Invalid, worded as in the
// reference.
package security
