package codeact

import (
	"maps"
	"slices"
	"strings"
)

// secretList names the secrets, in order, never their values.
func secretList(secrets map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		b.WriteString("- $" + name)
		if d := secrets[name]; d != "" {
			b.WriteString(": " + d)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
