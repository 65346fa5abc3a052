// Package secret manages the secrets of one conversation: where their values
// come from, which command gets which, and masking them in everything shown.
//
// # Usage
//
//	r := secret.NewRegistry(secret.Options{Warn: warn})
//	r.Set(sources...)                       // of the request, see ParseMap
//	env := r.Env(ctx, "curl -H $TOKEN …")   // the secrets that this command names
//	obs = r.MaskObservation(obs)            // before it is stored
//	s := r.Stream()                         // output that arrives in pieces
//	show(s.Feed(chunk)); show(s.Flush())
//
// A command gets a secret if it mentions its name, in any case, anywhere, as
// the reference decides it (openhands-sdk 1.58, secret_registry).
//
// # What is masked
//
// Every value that is known (static values, and looked-up ones once they were
// asked for, the former ones of a secret that changed too) is replaced by
// [Hidden]. The reference replaces the bare value. Here its usual encodings are
// replaced as well: within JSON and URLs, quoted for a shell, with the line
// ends of a terminal, the single lines of a key file, and from 8 bytes on in
// hexadecimal and in base64 at any offset. Base64 that is broken into lines is
// not found. There is no shortest value: even one letter is masked everywhere,
// as in the reference, but for [Registry.TrackKeys]. Masking never looks anything up; [Registry.Resolve]
// makes values known ahead.
//
// # Concurrency
//
// A Registry is safe for concurrent use; a Stream belongs to one goroutine.
// Goroutines that fetch values end before the call that started them.
//
// # Failure
//
// If a value is not available, [Options.Warn] is called and the command runs
// without it. Warnings and errors never hold a value, a header or
// the query of a URL.
package secret

const (
	// Hidden takes the place of a value in shown text.
	Hidden = "<secret-hidden>"
	// Redacted takes the place of a value in a document. Sent back, it
	// means no value (docs/openhands/sdk-wire.md section 0.8).
	Redacted = "**********"
)
