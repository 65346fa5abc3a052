// Package security says how dangerous actions are and whether they wait for
// the user.
//
// # Usage
//
//	analyzer, err := security.ParseAnalyzer(raw) // nil for none
//	policy, err := security.ParsePolicy(raw)
//	ev, wait := security.Review(ctx, analyzer, policy, batch)
//
// An [Analyzer] rates each action of an answer and a [Policy] decides by the
// ratings. One action that is to be confirmed stops the whole answer; a lone
// finish or think never waits. Without an analyzer every risk is UNKNOWN. The
// names and the JSON of both are those of openhands-sdk 1.58.
//
// # The analyzers
//
// [Model] takes the model's own rating. [Patterns] looks for signatures in
// text. [Rails] reads shell commands as bash would and knows a few structures
// that are hardly ever wanted. [Ensemble] takes the worst of several. None of
// them is a sandbox: they find what is obvious, so that a person looks at it.
//
// # Concurrency
//
// Analyzers and policies do not change and are safe for concurrent use.
//
// # Failure
//
// An analyzer that fails or panics gives HIGH, with the error in the details.
// Documents that are wrong are errors of kind fault.Invalid, in the words of
// the reference where it has some.
package security
