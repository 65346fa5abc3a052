package runcommand

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deft-dev/deft/fault"
)

func TestReadEnvironment(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := write(t, filepath.Join(dir, ".env"), "# comment\nPASSWORD='correct horse'\nexport PORT=3000\nDEBUG=false\nNUMBER=123456789\nURL=http://u:pw@host/\n")
	bad := write(t, filepath.Join(dir, "bad"), "a secret line\n")
	large := write(t, filepath.Join(dir, "large"), "A="+strings.Repeat("a", maxEnvFile))
	env := func(name string) string { return map[string]string{"CI": "true"}[name] }
	for name, c := range map[string]struct {
		given, files  []string
		plain         bool
		want, secrets []string
		fails         string
	}{
		"nothing":          {},
		"given":            {given: []string{"CI", "A=b=c", "E="}, want: []string{"A=b=c", "CI=true", "E="}},
		"file":             {files: []string{file}, want: []string{"DEBUG=false", "NUMBER=123456789", "PORT=3000"}, secrets: []string{"PASSWORD", "URL"}},
		"file, plain":      {files: []string{file}, plain: true, want: []string{"DEBUG=false", "NUMBER=123456789", "PASSWORD=correct horse", "PORT=3000", "URL=http://u:pw@host/"}},
		"given goes first": {given: []string{"PASSWORD=known-to-all"}, files: []string{file}, want: []string{"DEBUG=false", "NUMBER=123456789", "PASSWORD=known-to-all", "PORT=3000"}, secrets: []string{"URL"}},
		"unset":            {given: []string{"MISSING"}, fails: "MISSING is empty"},
		"no name":          {given: []string{"a b=c"}, fails: "--env takes NAME"},
		"a zero":           {given: []string{"A=\x00"}, fails: "zero byte"},
		"no file":          {files: []string{file + "x"}, fails: "cannot be read"},
		"large":            {files: []string{large}, fails: "larger than 256 KiB"},
		"no variables":     {files: []string{bad}, fails: "is not a file of NAME=VALUE lines"},
	} {
		got, err := ReadEnvironment(c.given, c.files, c.plain, env)
		if c.fails != "" {
			if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), c.fails) || strings.Contains(err.Error(), "a secret line") {
				t.Errorf("%s: %v, want %q", name, err, c.fails)
			}
			continue
		}
		slices.Sort(got.Plain)
		if secrets := slices.Sorted(maps.Keys(got.Secrets)); err != nil || !slices.Equal(got.Plain, c.want) || !slices.Equal(secrets, c.secrets) {
			t.Errorf("%s: %q, secrets %q, %v; want %q, %q", name, got.Plain, secrets, err, c.want, c.secrets)
		}
	}
}
