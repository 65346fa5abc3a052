// Package config loads the configuration of an Agent Server from the same sources
// as the reference: defaults, a JSON file, OH_* variables and flags, each of which
// overrides the one before (docs/openhands/sdk-wire.md section 1,
// docs/openhands/sdk-wire-1.58.md section D.1).
//
// # Usage
//
//	type command struct {
//		config.Flags `embed:""`
//	}
//
//	loaded, err := config.Load(os.Environ(), c.Flags)
//	for _, w := range loaded.Warnings { log.Warn("configuration", "warning", w) }
//	ring, err := loaded.Ring()
//	listener, err := net.Listen(loaded.Network(), loaded.Address())
//
// # The variables
//
// The variable of a field is OH_ and the field's name in capitals: OH_WEB_URL.
// Nested names are joined by underscores, list items count from 0:
// OH_WEBHOOKS_0_BASE_URL. A list or an object can be one variable with JSON, and
// single items can be overridden by variables of their own; a list's variable can
// also be the number of its items. OH_<FIELD>_IS_NONE=1 removes the file's value.
//
// # Concurrency and failure
//
// A Config does not change after it was loaded and is safe for concurrent use. An
// invalid value is an error of kind fault.Invalid that names the field and never
// the value, which may be a secret. Unknown fields and variables are warnings. A
// server without keys on an address that others can reach is refused
// (CVE-2026-112346).
package config
