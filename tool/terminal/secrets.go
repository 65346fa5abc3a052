package terminal

import (
	"maps"
	"slices"
	"strings"

	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/deft-dev/deft/tool/terminal/ahead"
)

// variable matches names of shell variables.
var variable = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// exporting is shell text that puts secrets into the shell's environment, for
// the command that follows; empty without secrets.
//
// The values are in the shell's input from its pipe, and so in no file, no
// argument list and no output.
func exporting(in shellSyntax, secrets map[string]string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		value := secrets[name]
		if !variable().MatchString(name) || ahead.Disturbs(name) || strings.HasPrefix(name, "__deft") ||
			value == "" || strings.ContainsRune(value, 0) {
			continue // no shell can take it, or it would disturb the session
		}
		all = append(all, name+"="+quote(value))
	}
	if len(all) == 0 {
		return ""
	}
	return in.export(all)
}

// forgetting defines the function that ends a command's secrets: each variable goes that
// still has the value it was given.
func forgetting(unset string, assignments []string) string {
	var text strings.Builder
	text.WriteString("__deft_forget() { ")
	for _, a := range assignments {
		name, value, _ := strings.Cut(a, "=")
		text.WriteString(`case "${` + name + `-}" in ` + value + ") " + unset + name + ";; esac; ")
	}
	text.WriteString("}; ")
	return text.String()
}
