package grep_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/grep"
)

func write(t *testing.T, root, name, content string, age int) string {
	t.Helper()
	path := filepath.Join(root, name)
	must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Succeed(t, os.WriteFile(path, []byte(content), 0o644))
	at := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC).Add(-time.Duration(age) * time.Second)
	must.Succeed(t, os.Chtimes(path, at, at))
	return path
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must.Succeed(t, err)
	return dir
}

func run(ctx context.Context, t *testing.T, x tool.Executor, a event.GrepAction) *event.GrepObservation {
	t.Helper()
	obs, err := x.Execute(ctx, tool.Call{Action: &a})
	must.Succeed(t, err)
	return obs.(*event.GrepObservation)
}

// engines returns an executor without and, where it is installed, one with
// ripgrep.
func engines(t *testing.T, workspace string) map[string]tool.Executor {
	t.Helper()
	all := map[string]tool.Executor{"go": grep.New(grep.Config{Workspace: workspace, Ripgrep: grep.NoRipgrep})}
	if rg := ripgrep(t); rg != "" {
		all["ripgrep"] = grep.New(grep.Config{Workspace: workspace, Ripgrep: rg})
	}
	return all
}

func ripgrep(t *testing.T) string {
	t.Helper()
	rg, err := exec.LookPath("rg")
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatal("ripgrep is not installed: apt-get install ripgrep")
	}
	return rg
}

func TestGrep(t *testing.T) {
	t.Parallel()
	dir := root(t)
	a := write(t, dir, "src/a.go", "package a\nfunc Handler() {}\n", 3)
	b := write(t, dir, "src/deep/b.go", "// todo: Handler", 1)
	c := write(t, dir, ".github/c.yml", "handler: x\r\nend\r\n", 2)
	write(t, dir, "node_modules/x/d.go", "Handler", 0)
	write(t, dir, ".git/e", "Handler", 0)
	write(t, dir, "bin", "Handler\x00\n", 0)
	write(t, dir, "empty", "", 0)
	write(t, dir, "big", strings.Repeat("Handler\n", grep.MaxFileSize/8+1), 0)
	for name, link := range map[string]string{"loop": ".", "self": "self", "file": "src/a.go"} {
		must.Succeed(t, os.Symlink(link, filepath.Join(dir, name)))
	}
	must.Succeed(t, unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	text := func(s string) *string { return &s }
	tests := map[string]struct {
		action event.GrepAction
		want   []string
	}{
		"newest first":       {event.GrepAction{Pattern: "(?i)handler"}, []string{b, c, a}},
		"case counts":        {event.GrepAction{Pattern: "Handler"}, []string{b, a}},
		"include by name":    {event.GrepAction{Pattern: "Handler", Include: text("a.*")}, []string{a}},
		"include by path":    {event.GrepAction{Pattern: "Handler", Include: text("src/*/*.{go,py}")}, []string{b}},
		"relative path":      {event.GrepAction{Pattern: "Handler", Path: text("src/deep")}, []string{b}},
		"one file":           {event.GrepAction{Pattern: "Handler", Path: text(a)}, []string{a}},
		"skipped when asked": {event.GrepAction{Pattern: "Handler", Path: text("node_modules")}, []string{filepath.Join(dir, "node_modules/x/d.go")}},
		"anchors are lines":  {event.GrepAction{Pattern: `^func \w+\(\) \{\}$`}, []string{a}},
		"like an option":     {event.GrepAction{Pattern: "--files"}, []string{}},
		"nothing":            {event.GrepAction{Pattern: "absent"}, []string{}},
		"no empty last line": {event.GrepAction{Pattern: "^$"}, []string{}},
	}
	for engine, x := range engines(t, dir) {
		for name, tc := range tests {
			t.Run(engine+"/"+name, func(t *testing.T) {
				t.Parallel()
				obs := run(t.Context(), t, x, tc.action)
				if obs.IsError || obs.Truncated {
					t.Fatalf("error or truncated: %s", event.JoinText(obs.Content))
				}
				if diff := cmp.Diff(tc.want, []string(obs.Matches)); diff != "" {
					t.Errorf("matches (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestBadInputIsExplained(t *testing.T) {
	t.Parallel()
	x := grep.New(grep.Config{Workspace: root(t)})
	text := func(s string) *string { return &s }
	for want, a := range map[string]event.GrepAction{
		"write \"foo\\\\(\"":      {Pattern: "foo("},
		"Lookaround":              {Pattern: "(?=a)"},
		"line by line":            {Pattern: "a\nb"},
		"pattern is empty":        {},
		"does not exist":          {Pattern: "a", Path: text("missing")},
		"file system of":          {Pattern: "a", Path: text("/proc/self")},
		"not valid: a [":          {Pattern: "a", Include: text("[")},
		"lead out of":             {Pattern: "a", Include: text("../*")},
		"is not a directory":      {Pattern: "a", Path: text("/dev/null")},
		"contains a NUL":          {Pattern: "a", Path: text("a\x00")},
		"There is no such reason": {},
	} {
		obs := run(t.Context(), t, x, a)
		got := event.JoinText(obs.Content)
		if want == "There is no such reason" {
			want = "use glob"
		}
		if !obs.IsError || !strings.Contains(got, want) {
			t.Errorf("%+v: %q does not say %q", a, got, want)
		}
	}
}

func TestTruncatedAtTheLimit(t *testing.T) {
	t.Parallel()
	dir := root(t)
	for i := range grep.MaxResults + 5 {
		write(t, dir, fmt.Sprintf("f%03d", i), "x\n", i)
	}
	for engine, x := range engines(t, dir) {
		obs := run(t.Context(), t, x, event.GrepAction{Pattern: "x"})
		if !obs.Truncated || len(obs.Matches) != grep.MaxResults || obs.Matches[99] != filepath.Join(dir, "f099") {
			t.Errorf("%s: truncated %v, %d matches, last %s", engine, obs.Truncated, len(obs.Matches), obs.Matches[len(obs.Matches)-1])
		}
	}
}

func TestInterruptedSearchSaysSo(t *testing.T) {
	t.Parallel()
	dir := root(t)
	write(t, dir, "f", "x\n", 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for engine, x := range engines(t, dir) {
		obs := run(ctx, t, x, event.GrepAction{Pattern: "x"})
		if !obs.Truncated || !strings.Contains(event.JoinText(obs.Content), "interrupted") {
			t.Errorf("%s: %+v", engine, obs)
		}
	}
	slow := grep.New(grep.Config{Workspace: dir, Timeout: time.Nanosecond})
	if obs := run(t.Context(), t, slow, event.GrepAction{Pattern: "x"}); !obs.Truncated || !strings.Contains(event.JoinText(obs.Content), "stopped after 1ns") {
		t.Errorf("timeout: %+v", obs)
	}
}

// TestRipgrepAndGoAgree compares both engines on a generated tree.
func TestRipgrepAndGoAgree(t *testing.T) {
	t.Parallel()
	if ripgrep(t) == "" {
		t.Skip("ripgrep is not installed")
	}
	dir := root(t)
	r := rand.New(rand.NewPCG(1, 2))
	words := []string{"foo", "Foo", "bar", "b_r", "x1", "é", "Straße", "日本", "\t", " ", "  ", "(", ")", ".", "*", "\\", "{}", "[a]", "$", "^", "K", "a-b", "\r", "\u00a0", "9", "٣"}
	for i := range 300 {
		var b strings.Builder
		for range r.IntN(6) {
			for range r.IntN(5) {
				b.WriteString(words[r.IntN(len(words))])
			}
			b.WriteString([]string{"\n", "\n", "\r\n", "\n\n"}[r.IntN(4)])
		}
		if r.IntN(8) == 0 {
			b.WriteString("\x00")
		}
		if r.IntN(3) == 0 {
			b.WriteString("foo")
		}
		write(t, dir, fmt.Sprintf("%s/f%d.%s", []string{"a", "a/b", ".h", "node_modules"}[r.IntN(4)], i, []string{"go", "py"}[r.IntN(2)]), b.String(), i%50)
	}
	patterns := []string{
		"foo", "(?i)foo", "^foo", "foo$", `\bfoo\b`, `\Bo`, `\w+\(`, `\s`, `^\s+$`, `\d`, `[[:alpha:]]\.`, `.`, `^.$`, `^..$`, "é", "[é-ü]", `\p{Han}`,
		`(foo|bar)+x1`, `^$`, `x*`, `\Afoo`, `foo\z`, `(?s)foo.bar`, `[^a]foo`, `[^\w]`, `\\`, `\Q(\E`, `\x{65e5}`, `(?i)k`, `(?i)STRASSE`, `a{2,3}`, `o{2}`, `(?P<n>b)ar`, `\t`, `\r`, `\$`, `[\]a]`, `[\\b]`, `\\b`, `(?U)f.+o`, `\S\W`, `^(foo)?$`, `$^`,
	}
	both := engines(t, dir)
	some := 0
	for _, p := range patterns {
		want := run(t.Context(), t, both["go"], event.GrepAction{Pattern: p})
		got := run(t.Context(), t, both["ripgrep"], event.GrepAction{Pattern: p})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-go +ripgrep):\n%s", p, diff)
		}
		if n := len(want.Matches); n > 0 && !want.Truncated {
			some++
		}
	}
	if some < 15 {
		t.Errorf("only %d patterns tell anything", some)
	}
}

// FuzzPattern checks that no pattern makes a search panic, and that ripgrep and Go
// search the same files.
func FuzzPattern(f *testing.F) {
	for _, s := range []string{"foo", `\bfoo\B`, "(?i)[^a-f]+", "(", `\Q`, "(?s).", "a{1000}", `[\b]`} {
		f.Add(s)
	}
	dir, err := os.MkdirTemp("", "deft-grep-")
	must.Succeed(f, err)
	f.Cleanup(func() { _ = os.RemoveAll(dir) })
	must.Succeed(f, os.WriteFile(filepath.Join(dir, "f"), []byte("foo bar\nTest_1 (x)\n\né [b]\n"), 0o644))
	f.Fuzz(func(t *testing.T, pattern string) {
		if strings.ContainsRune(pattern, 0) {
			t.Skip("no program takes NUL as an argument")
		}
		both := engines(t, dir)
		want := run(t.Context(), t, both["go"], event.GrepAction{Pattern: pattern})
		if rg := both["ripgrep"]; rg != nil {
			if diff := cmp.Diff(want, run(t.Context(), t, rg, event.GrepAction{Pattern: pattern})); diff != "" {
				t.Errorf("%q (-go +ripgrep):\n%s", pattern, diff)
			}
		}
	})
}
