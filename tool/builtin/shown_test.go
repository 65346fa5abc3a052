package builtin_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool"
)

var update = flag.Bool("update", false, "write the web app's words for tools")

// TestShown holds that the web app words tools as their registrations do.
func TestShown(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	b.WriteString("// The words for calls of tools. `go test ./tool/builtin -args -update` writes this file from the\n" +
		"// registrations of the tools.\nimport { tr } from '../i18n/text';\n\n" +
		"export const shownTools = {\n")
	deed := func(d tool.Deed) string {
		if !slices.Contains(tool.DeedClasses, d.Class) {
			t.Errorf("%q has the class %q", d.Verb, d.Class)
		}
		return fmt.Sprintf("verb: tr('%s'), deed: '%s'", d.Verb, d.Class)
	}
	var all []tool.Shown
	for _, r := range tool.Registered() {
		all = append(all, r.Words()...)
	}
	for _, s := range all {
		fmt.Fprintf(&b, "  %s: {\n    %s,\n", s.Action, deed(s.Deed))
		if len(s.Commands) > 0 {
			b.WriteString("    commands: {\n")
			for _, name := range slices.Sorted(maps.Keys(s.Commands)) {
				fmt.Fprintf(&b, "      %s: { %s },\n", name, deed(s.Commands[name]))
			}
			b.WriteString("    },\n")
		}
		subjects := ""
		if len(s.Subjects) > 0 {
			subjects = "'" + strings.Join(s.Subjects, "', '") + "'"
		}
		fmt.Fprintf(&b, "    subjects: [%s],\n  },\n", subjects)
	}
	b.WriteString("} as const;\n")
	file := filepath.Join("..", "..", "web", "src", "conversation", "shownTools.ts")
	if *update {
		must.Succeed(t, os.WriteFile(file, b.Bytes(), 0o644))
	}
	had, err := os.ReadFile(file)
	must.Succeed(t, err)
	if diff := cmp.Diff(b.String(), string(had)); diff != "" {
		t.Errorf("%s is not as the registrations say: go test ./tool/builtin -args -update (-want +got)\n%s", file, diff)
	}
}
