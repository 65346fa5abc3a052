package tomlfile_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/tomlfile"
)

func TestParse(t *testing.T) {
	t.Parallel()
	const text = `# comment
top = "x"

[server]
address = "127.0.0.1:1" # comment
"quoted.key" = 2
a.b = true
long = """
two
lines"""
after = 1.5
inline = { z = 1, y = { x = [1, "2"] } }
empty = {}
[[list]]
n = 1
[list.sub]
n = 2
[[list]]
n = 3
[[list.deep]]
n = 4
[nothing]
`
	f, err := tomlfile.Parse("f.toml", []byte(text))
	must.Succeed(t, err)
	var got []string
	for _, e := range f.Entries {
		got = append(got, fmt.Sprintf("%d %s %v", e.Line, e.Key(), e.Value))
	}
	want := []string{
		"2 top x", "5 server.address 127.0.0.1:1", "6 server.quoted.key 2", "7 server.a.b true", "8 server.long two\nlines",
		"11 server.after 1.5", "12 server.inline.y.x [1 2]", "12 server.inline.z 1", "13 server.empty map[]",
		"15 list.0.n 1", "17 list.0.sub.n 2", "19 list.1.n 3", "21 list.1.deep.0.n 4",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error("(-want +got)\n", d)
	}
	got = nil
	for _, table := range f.Tables {
		got = append(got, fmt.Sprintf("%d %s", table.Line, strings.Join(table.Path, ".")))
	}
	if d := cmp.Diff([]string{"4 server", "14 list", "16 list.sub", "18 list", "20 list.deep", "22 nothing"}, got); d != "" {
		t.Error("tables (-want +got)\n", d)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for text, line := range map[string]string{
		"a = 1\nkey = sk-secret\n":        ":2 ",
		"a = 1\n\na = \"sk-secret\"\n":    ":3 ",
		"[t\n":                            ":1 ",
		strings.Repeat("#", 1<<20) + "\n": " is longer ",
	} {
		_, err := tomlfile.Parse("f.toml", []byte(text))
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "f.toml"+line) || strings.Contains(err.Error(), "sk-secret") {
			t.Errorf("%.30q: %v", text, err)
		}
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "deft.toml")
	if _, err := tomlfile.Read(name); !errors.Is(err, fs.ErrNotExist) {
		t.Error("no file:", err)
	}
	if _, err := tomlfile.Read(dir); !fault.Is(err, fault.Invalid) {
		t.Error("a directory:", err)
	}
	for mode, open := range map[os.FileMode]bool{0o600: false, 0o644: true} {
		must.Succeed(t, errors.Join(os.WriteFile(name, []byte("a = 1\n"), mode), os.Chmod(name, mode)))
		f, err := tomlfile.Read(name)
		if err != nil || f.Open != open || len(f.Entries) != 1 {
			t.Errorf("%o: %+v, %v", mode, f, err)
		}
	}
}

// FuzzParse checks that each value of a file that is TOML has its line.
func FuzzParse(f *testing.F) {
	f.Add([]byte("a = 1\n[b.c]\nd = {e = [1]}\n[[f]]\n[f.g]\nh = 1\n[[f]]\n"))
	f.Add([]byte("\"a\\u0062\".'c d' = '''\n\n'''\r\nb = 1979-05-27T07:32:00Z\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := tomlfile.Parse("f", raw)
		if err != nil {
			if !fault.Is(err, fault.Invalid) {
				t.Fatalf("%v", err)
			}
			return
		}
		lines, last := strings.Count(string(raw), "\n")+1, 1
		for _, e := range got.Entries {
			if e.Line < last || e.Line > lines || len(e.Path) == 0 {
				t.Fatalf("%+v after line %d of %d", e, last, lines)
			}
			last = e.Line
		}
	})
}
