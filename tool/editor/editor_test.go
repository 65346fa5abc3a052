package editor_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/editor"
	"github.com/deft-dev/deft/tool/files"
)

// bench is one workspace with an editor.
type bench struct {
	t   *testing.T
	dir string
	cfg files.Config
	x   tool.Executor
}

func setup(t *testing.T, cfg files.Config) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must.Succeed(t, err)
	cfg.Workspace = dir
	if cfg.UndoDir == "" {
		cfg.UndoDir = t.TempDir()
	}
	b := &bench{t: t, dir: dir, cfg: cfg}
	b.restart()
	return b
}

func (b *bench) restart() {
	b.t.Helper()
	all, err := files.New(b.cfg)
	must.Succeed(b.t, err)
	x := editor.New(all)
	b.x = x
	b.t.Cleanup(func() { must.Report(b.t, x.Close()) })
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }

func (b *bench) write(name, content string) string {
	b.t.Helper()
	path := b.path(name)
	must.Succeed(b.t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Succeed(b.t, os.WriteFile(path, []byte(content), 0o644))
	return path
}

func (b *bench) read(name string) string {
	b.t.Helper()
	raw, err := os.ReadFile(b.path(name))
	must.Succeed(b.t, err)
	return string(raw)
}

func (b *bench) run(a event.FileEditorAction) *event.FileEditorObservation {
	b.t.Helper()
	obs, err := b.x.Execute(b.t.Context(), tool.Call{Action: &a, Progress: func(tool.Chunk) {}})
	must.Succeed(b.t, err)
	return obs.(*event.FileEditorObservation)
}

func (b *bench) ok(a event.FileEditorAction) string {
	b.t.Helper()
	obs := b.run(a)
	if obs.IsError {
		b.t.Fatalf("%s failed: %s", a.Command, event.JoinText(obs.Content))
	}
	return event.JoinText(obs.Content)
}

func (b *bench) fails(a event.FileEditorAction, want ...string) {
	b.t.Helper()
	obs := b.run(a)
	got := event.JoinText(obs.Content)
	if !obs.IsError {
		b.t.Errorf("%s %s succeeded: %s", a.Command, a.Path, got)
	}
	for _, w := range want {
		if !strings.Contains(got, w) {
			b.t.Errorf("%s %s: %q does not say %q", a.Command, a.Path, got, w)
		}
	}
}

func view(path string, span ...int) event.FileEditorAction {
	return event.FileEditorAction{Command: "view", Path: path, ViewRange: span}
}

func replace(path, old, with string) event.FileEditorAction {
	return event.FileEditorAction{Command: "str_replace", Path: path, OldStr: &old, NewStr: &with}
}

func insert(path string, line int, text string) event.FileEditorAction {
	return event.FileEditorAction{Command: "insert", Path: path, InsertLine: &line, NewStr: &text}
}

func create(path, text string) event.FileEditorAction {
	return event.FileEditorAction{Command: "create", Path: path, FileText: &text}
}

func undo(path string) event.FileEditorAction {
	return event.FileEditorAction{Command: "undo_edit", Path: path}
}

func TestCreateRefusesWhatExists(t *testing.T) {
	t.Parallel()
	b := setup(t, files.Config{})
	path := b.path("deep/er/new.txt")
	obs := b.run(create(path, "a\nb\n"))
	if obs.IsError || obs.PrevExist || obs.OldContent != nil || obs.NewContent == nil || *obs.NewContent != "a\nb\n" {
		t.Errorf("create: %+v", obs)
	}
	if got := b.read("deep/er/new.txt"); got != "a\nb\n" {
		t.Errorf("file = %q", got)
	}
	b.fails(create(path, "c"), "exists already", "str_replace")
	b.fails(create(b.dir, "c"), "is a directory")
	must.Succeed(t, os.Symlink("nowhere", b.path("dangling")))
	b.fails(create(b.path("dangling"), "c"), "symbolic link to nowhere")
	b.fails(create("rel.txt", "c"), "did you mean "+b.path("rel.txt"))
	if got := b.read("deep/er/new.txt"); got != "a\nb\n" {
		t.Errorf("a refused create changed the file to %q", got)
	}
}

func TestReplace(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ before, old, with, after string }{
		"a word":              {"one two\nthree\n", "two", "2", "one 2\nthree\n"},
		"no newline at end":   {"a\nb", "b", "c", "a\nc"},
		"nothing left":        {"a", "a", "", ""},
		"CRLF":                {"a\r\nb\r\nc\r\n", "b\n", "x\ny\n", "a\r\nx\r\ny\r\nc\r\n"},
		"CRLF written as is":  {"a\r\nb\r\nc\r\n", "a\r\nb", "a\r\nx", "a\r\nx\r\nc\r\n"},
		"mixed, outside kept": {"a\nb\r\nc\nd\r\ne\n", "c", "C1\nC2", "a\nb\r\nC1\nC2\nd\r\ne\n"},
		"mixed, inside kept":  {"a\nb\r\nc\nd\r\ne\n", "a\nb\nc\nd\ne", "a\nb\nX\nd\ne", "a\nb\r\nX\nd\r\ne\n"},
		"CR only":             {"a\rb\rc", "b\nc", "x\ny", "a\rx\ry"},
		"lone CR is a letter": {"10%\r20%\ndone\n", "done", "end", "10%\r20%\nend\n"},
		"BOM":                 {"\uFEFFa\nb\n", "a", "x", "\uFEFFx\nb\n"},
		"stray bytes":         {"äöü \xff\nb\n", "b", "ß", "äöü \xff\nß\n"},
		"Windows-1252":        {"caf\xe9 \x80\nb\n", "b", "é", "caf\xe9 \x80\n\xe9\n"},
		"UTF-16 LE":           {"\xff\xfea\x00\n\x00", "a", "é", "\xff\xfe\xe9\x00\n\x00"},
		"UTF-16 BE":           {"\xfe\xff\x00a\x00\r\x00\n\x00b", "a\nb", "a\nx\nb", "\xfe\xff\x00a\x00\r\x00\n\x00x\x00\r\x00\n\x00b"},
		"same prefix":         {"aXb", "X", "XX", "aXXb"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, files.Config{})
			path := b.write("f", tc.before)
			b.ok(replace(path, tc.old, tc.with))
			if got := b.read("f"); got != tc.after {
				t.Errorf("after = %q, want %q", got, tc.after)
			}
			b.ok(undo(path))
			if got := b.read("f"); got != tc.before {
				t.Errorf("after undo = %q, want %q", got, tc.before)
			}
		})
	}
}

func TestReplaceExplainsFailures(t *testing.T) {
	t.Parallel()
	const source = "func main() {\n\tfmt.Println(\"hello\")\n\treturn\n}\n\nfunc other() {\n\treturn\n}\n"
	tests := map[string]struct {
		old, with string
		want      []string
	}{
		"several":       {"return", "x", []string{"at lines 3, 7", "unique"}},
		"overlapping":   {"\n\n", "\n", nil},
		"tabs":          {"    fmt.Println(\"hello\")", "x", []string{"white space", "tabs and spaces", "     2\t\tfmt.Println"}},
		"near":          {"fmt.Println(\"hallo\")", "x", []string{"nearest is at line 2"}},
		"line numbers":  {"     2\t\tfmt.Println(\"hello\")", "x", []string{"line numbers"}},
		"escaped":       {`func main() {\n` + "\t" + `fmt`, "x", []string{"two characters"}},
		"nothing alike": {"zzzzzzzz", "x", []string{"View the file"}},
		"same":          {"return", "return", []string{"are the same"}},
		"endings only":  {"}\n", "}\r\n", []string{"line endings"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, files.Config{})
			path := b.write("f.go", source)
			if tc.want == nil {
				b.ok(replace(path, tc.old, tc.with))
				return
			}
			b.fails(replace(path, tc.old, tc.with), tc.want...)
			if got := b.read("f.go"); got != source {
				t.Errorf("a refused edit changed the file to %q", got)
			}
		})
	}
}

func TestOverlappingMatchesAreAmbiguous(t *testing.T) {
	t.Parallel()
	b := setup(t, files.Config{})
	b.fails(replace(b.write("f", "aaa\n"), "aa", "b"), "several times")
}

func TestEncodingCannotHoldCharacter(t *testing.T) {
	t.Parallel()
	b := setup(t, files.Config{})
	path := b.write("f", "caf\xe9\nb\n")
	b.fails(replace(path, "b", "日"), "Windows-1252", "日")
	if got := b.read("f"); got != "caf\xe9\nb\n" {
		t.Errorf("file = %q", got)
	}
}

func TestInsert(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		before string
		line   int
		text   string
		after  string
	}{
		"top":               {"a\nb\n", 0, "x", "x\na\nb\n"},
		"middle":            {"a\nb\n", 1, "x\ny\n", "a\nx\ny\nb\n"},
		"end":               {"a\nb\n", 2, "x", "a\nb\nx\n"},
		"end, no newline":   {"a\nb", 2, "x", "a\nb\nx"},
		"empty file":        {"", 0, "x", "x\n"},
		"blank line":        {"a\nb\n", 1, "", "a\n\nb\n"},
		"CRLF":              {"a\r\nb\r\n", 1, "x\ny", "a\r\nx\r\ny\r\nb\r\n"},
		"CRLF, no last one": {"a\r\nb", 2, "x", "a\r\nb\r\nx"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, files.Config{})
			b.ok(insert(b.write("f", tc.before), tc.line, tc.text))
			if got := b.read("f"); got != tc.after {
				t.Errorf("after = %q, want %q", got, tc.after)
			}
		})
	}
	b := setup(t, files.Config{})
	path := b.write("f", "a\n")
	b.fails(insert(path, 2, "x"), "has 1 lines")
	b.fails(insert(path, -1, "x"), "0 for the top")
}

func TestEditShowsItsSurroundings(t *testing.T) {
	t.Parallel()
	b := setup(t, files.Config{})
	path := b.write("f", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n")
	got := b.ok(replace(path, "6", "six\nseven"))
	want := path + " was edited. Lines 2 to 11 of 13 are now:\n" +
		"     2\t2\n     3\t3\n     4\t4\n     5\t5\n     6\tsix\n     7\tseven\n     8\t7\n     9\t8\n    10\t9\n    11\t10\n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRelativePathsAreTakenAndNamed(t *testing.T) {
	t.Parallel()
	b := setup(t, files.Config{})
	b.write("sub/f", "a\n")
	if got := b.ok(view("sub/f")); !strings.Contains(got, b.path("sub/f")) || !strings.Contains(got, "absolute") {
		t.Errorf("view = %q", got)
	}
	b.fails(view("sub/missing"), "did you mean "+b.path("sub/missing"))
	b.fails(view("~/f"), "absolute")
	b.fails(view("a\x00b"), "NUL")
	b.fails(view(""), "path is empty")
	b.fails(view(b.path("sub/F.txt")), "Did you mean "+b.path("sub/f"))
	b.fails(event.FileEditorAction{Command: "erase", Path: b.path("sub/f")}, "there is no command")
}

func TestUndoGoesBackTenStepsAndSurvivesARestart(t *testing.T) {
	t.Parallel()
	b := setup(t, files.Config{})
	path := b.write("f", "va\n")
	for i := range 12 {
		b.ok(replace(path, "v"+itoa(i), "v"+itoa(i+1)))
	}
	b.restart()
	for i := range 10 {
		b.ok(undo(path))
		if got, want := b.read("f"), "v"+itoa(11-i)+"\n"; got != want {
			t.Fatalf("after %d undos: %q, want %q", i+1, got, want)
		}
	}
	b.fails(undo(path), "no edit of")
}

// itoa names version i by a letter.
func itoa(i int) string { return string(rune('a' + i)) }

func TestUndoOfCreateRemovesTheFile(t *testing.T) {
	t.Parallel()
	b := setup(t, files.Config{})
	path := b.path("f")
	b.ok(create(path, "a\n"))
	b.ok(undo(path))
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("stat after undo: %v", err)
	}
	b.fails(undo(path), "does not exist")
}

func TestUndoKeepsChangesOfOthers(t *testing.T) {
	t.Parallel()
	b := setup(t, files.Config{})
	path := b.write("f", "a\n")
	b.ok(replace(path, "a", "b"))
	b.write("f", "precious\n")
	b.fails(undo(path), "another program")
	if got := b.read("f"); got != "precious\n" {
		t.Errorf("file = %q", got)
	}
}

func TestEditTellsOfChangesSinceView(t *testing.T) {
	t.Parallel()
	b := setup(t, files.Config{})
	path := b.write("f", "a\nb\n")
	b.ok(view(path))
	b.write("f", "a\nb\nc\n")
	if got := b.ok(replace(path, "a", "x")); !strings.Contains(got, "changed by another program since") {
		t.Errorf("edit = %q", got)
	}
	if got := b.ok(replace(path, "x", "y")); strings.Contains(got, "another program") {
		t.Errorf("second edit = %q", got)
	}
}

func TestLargeContentStaysOutOfTheObservation(t *testing.T) {
	t.Parallel()
	b := setup(t, files.Config{MaxContent: 10, MaxFileSize: 100})
	path := b.write("f", "0123456789\nx\n")
	obs := b.run(replace(path, "x", "y"))
	if obs.IsError || obs.OldContent != nil || obs.NewContent != nil {
		t.Errorf("observation %+v", obs)
	}
	b.fails(replace(path, "y", strings.Repeat("z", 100)), "up to 100 bytes")
	b.fails(create(b.path("g"), strings.Repeat("z", 101)), "up to 100 bytes")
	b.fails(view(b.write("h", strings.Repeat("z", 101))), "up to 100 bytes", "terminal")
	small := b.write("s", "x")
	obs = b.run(replace(small, "x", "y"))
	if obs.OldContent == nil || *obs.OldContent != "x" || obs.NewContent == nil || *obs.NewContent != "y" {
		t.Errorf("small file: %+v", obs)
	}
}
