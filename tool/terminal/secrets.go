package terminal

import (
	"maps"
	"slices"
	"strings"

	"github.com/deft-dev/deft/internal/lazyregexp"
)

// variable is what a shell takes as a name.
var variable = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// exporting is shell text that puts secrets into the shell's environment, for
// the command that follows and all later ones; empty without secrets.
//
// The values are in what bash reads from its pipe, and so in no file, no
// argument list and no output: the first line ends tracing and echo, and keeps
// the second out of the history, as far as the user has turned these on. They
// must be two lines, because bash puts a line into the history before it runs
// it.
func exporting(secrets map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		value := secrets[name]
		if !variable().MatchString(name) || slices.Contains(unwanted, name) || strings.HasPrefix(name, "__deft") ||
			value == "" || strings.ContainsRune(value, 0) {
			continue // no shell can take it, or it would disturb the session
		}
		b.WriteString("\\builtin export " + name + "=" + quote(value) + "; ")
	}
	if b.Len() == 0 {
		return ""
	}
	return `{ \builtin set +xv; [[ -o history ]]; __deft_h=$?; \builtin set +o history; } >/dev/null 2>&1
{ ` + b.String() + `((__deft_h)) || \builtin set -o history; } >/dev/null 2>&1
`
}
