// Package config finds out how an Agent Server is to run, from where the
// reference finds it: defaults, a JSON file, OH_* variables and flags, each
// over the one before (docs/openhands/sdk-wire.md section 1,
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
// A field of the file is the variable OH_ and its name in capitals: OH_WEB_URL.
// What lies deeper is joined by underscores, lists count from 0:
// OH_WEBHOOKS_0_BASE_URL. A list or an object can be one variable with JSON,
// and single items of it variables of their own; a list's variable can also be
// the number of its items. OH_<FIELD>_IS_NONE=1 takes the file's value back.
//
// # Concurrency and failure
//
// A Config is not changed after it was loaded and is safe for concurrent use.
// What cannot be understood is an error of kind fault.Invalid that names the
// field and never its value, which may be a secret. Fields and variables that
// nobody knows are warnings. A server without keys on an address that others
// can reach is refused (CVE-2026-112346).
package config
