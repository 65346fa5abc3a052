package llm

import "path/filepath"

// UserDir is the user's directory for settings of models: deft below
// $XDG_CONFIG_HOME or ~/.config. It is "" where neither is set.
func UserDir(env func(string) string) string {
	base := env("XDG_CONFIG_HOME")
	if !filepath.IsAbs(base) { // the specification ignores relative ones
		home := env("HOME")
		if home == "" {
			return ""
		}
		base = filepath.Join(home, ".config")
	}
	return filepath.Join(base, "deft")
}
