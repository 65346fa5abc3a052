// Package config loads the configuration of `deft serve`: defaults, then TOML files, then
// OpenHands' config.toml if one is named, then variables, then flags. Each overrides the
// ones before it.
//
// # Usage
//
//	type serveCmd struct {
//		config.Flags `embed:""`
//	}
//
//	cfg, report, err := config.Load(config.Sources{
//		Environ: os.Environ(), Flags: c.Flags, Data: g.Data, DefaultData: p.data, Classes: classes,
//	})
//	for _, w := range report.Warnings { log.Warn("configuration", "warning", w) }
//	listener, err := net.Listen("tcp", cfg.Server.Address)
//
// [Config] is the table of all settings: `deft config`, the example file and
// docs/configuration.md are made from its tags. A new setting needs a field there, and, if
// it has a flag, one in [Flags].
//
// # Concurrency and failure
//
// A Config does not change after it was loaded. Errors are of kind fault.Invalid and name
// the setting and the file with the line, the variable or the flag that it comes from, and
// never the value, which may be a secret. All that is wrong is in one error. Unknown keys of
// our own files are errors; unknown variables are warnings, and so are keys of OpenHands'
// file that have no effect.
package config
