package applypatch_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool/applypatch"
	"github.com/deft-dev/deft/tool/files"
	"github.com/deft-dev/deft/tool/files/filestest"
)

func patch(body string) event.Action {
	return &event.ApplyPatchAction{Patch: "*** Begin Patch\n" + body + "\n*** End Patch\n"}
}

func TestApplyPatch(t *testing.T) {
	t.Parallel()
	filestest.Run(t, filestest.Tool{
		New: applypatch.New,
		Change: func(path, old, with string) event.Action {
			return patch("*** Update File: " + path + "\n@@\n first\n-" + old + "\n+" + with + "\n last")
		},
		Create: func(path, line string) event.Action { return patch("*** Add File: " + path + "\n+" + line) },
	})
}

const code = "class A:\n    def f(self):\n        return 1\n\nclass B:\n    def f(self):\n        return 1\n"

func TestHunks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, hunks, after string
		fuzz                 int
	}{
		"context":                      {"a\nb\nc\n", "@@\n a\n-b\n+B\n c", "a\nB\nc\n", 0},
		"without a mark":               {"a\nb\nc\n", " a\n-b\n+B\n c", "a\nB\nc\n", 0},
		"two hunks":                    {"a\nb\nc\nd\ne\n", "@@\n-a\n+A\n@@\n d\n-e\n+E\n+F", "A\nb\nc\nd\nE\nF\n", 0},
		"several in one hunk":          {"a\nb\nc\n", "@@\n-a\n+A\n b\n-c\n+C", "A\nb\nC\n", 0},
		"added before deleted":         {"a\nb\n", "@@\n+A\n-a\n b", "A\nb\n", 0},
		"a named line":                 {code, "@@ class B:\n     def f(self):\n-        return 1\n+        return 2", strings.Replace(code, "class B:\n    def f(self):\n        return 1", "class B:\n    def f(self):\n        return 2", 1), 0},
		"two named lines":              {code, "@@ class B:\n@@     def f(self):\n-        return 1\n+        return 2", strings.Replace(code, "class B:\n    def f(self):\n        return 1", "class B:\n    def f(self):\n        return 2", 1), 0},
		"named with other indentation": {code, "@@ class B:\n@@ def f(self):\n-        return 1\n+        return 2", strings.Replace(code, "class B:\n    def f(self):\n        return 1", "class B:\n    def f(self):\n        return 2", 1), 1},
		"the named line again":         {"a\nb\n", "@@ a\n a\n-b\n+B", "a\nB\n", 0},
		"line numbers":                 {"a\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n+B", "a\nB\n", 0},
		"a name that is nowhere, once": {"a\nb\n", "@@ nowhere\n a\n-b\n+B", "a\nB\n", 0},
		"after a named line":           {"a\nb\n", "@@ a\n+x", "a\nx\nb\n", 0},
		"at the end":                   {"a\nb\na\nb\n", "@@\n a\n-b\n+B\n*** End of File", "a\nb\na\nB\n", 0},
		"only added at the end":        {"a\n", "@@\n+b\n*** End of File", "a\nb\n", 0},
		"not at the end":               {"a\nb\nc\n", "@@\n a\n-b\n+B\n*** End of File", "a\nB\nc\n", 10_000},
		"blanks at line ends":          {"a  \nb\t\nc\n", "@@\n a\n-b\n+B\n c", "a  \nB\nc\n", 1},
		"indentation":                  {"  a\n  b\n", "@@\n a\n-b\n+  B", "  a\n  B\n", 100},
		"a mark that was lost":         {"a\n\nb\n", "@@\n a\n\n-b\n+B", "a\n\nB\n", 0},
		"a blank line too many":        {"a\nb\n", "@@\n a\n-b\n+B\n ", "a\nB\n", 0},
		"no last newline":              {"a\nb", "@@\n a\n-b\n+B", "a\nB", 0},
		"behind no last newline":       {"a\nb", "@@\n b\n+c", "a\nb\nc", 0},
		"the last line goes":           {"a\nb\n", "@@\n a\n-b", "a\n", 0},
		"all goes":                     {"a\nb\n", "@@\n-a\n-b", "", 0},
		"into an empty file":           {"", "@@\n+a", "a\n", 0},
		"marks as text":                {"-a\n+b\n", "@@\n--a\n+++ c\n +b", "++ c\n+b\n", 0},
		"CRLF in the patch":            {"a\nb\n", "@@\r\n a\r\n-b\r\n+B\r", "a\nB\n", 0},
		"CRLF in the file":             {"a\r\nb\r\n", "@@\n a\n-b\n+B\n+C", "a\r\nB\r\nC\r\n", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := filestest.NewBench(t, files.Config{}, applypatch.New)
			b.Write("f", c.before)
			obs := b.Run(patch("*** Update File: f\n" + c.hunks)).(*event.ApplyPatchObservation)
			if obs.IsError || obs.Fuzz != c.fuzz {
				t.Errorf("fuzz %d: %s", obs.Fuzz, event.JoinText(obs.Content))
			}
			if diff := cmp.Diff(c.after, b.Content("f")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ patch, want string }{
		"no patch":               {"hello", "begins with the line"},
		"nothing":                {"", "begins with the line"},
		"no end":                 {"*** Begin Patch\n*** Delete File: f", "ends with the line"},
		"empty":                  {"*** Begin Patch\n*** End Patch", "the patch is empty"},
		"no file":                {"*** Begin Patch\n-a\n*** End Patch", "line 2 of the patch"},
		"another mark":           {"*** Begin Patch\n*** Rename File: f\n*** End Patch", "begins no file"},
		"no path":                {"*** Begin Patch\n*** Add File:  \n+a\n*** End Patch", "begins no file"},
		"no hunk":                {"*** Begin Patch\n*** Update File: f\n*** End Patch", "has no hunk"},
		"a hunk of context":      {"*** Begin Patch\n*** Update File: f\n@@\n a\n*** End Patch", "no line with - or +"},
		"a line without mark":    {"*** Begin Patch\n*** Update File: f\n@@\n a\nb\n*** End Patch", "line 5 of the patch"},
		"an added line":          {"*** Begin Patch\n*** Add File: n\nabc\n*** End Patch", "begins with +"},
		"no such file":           {"*** Begin Patch\n*** Update File: g\n@@\n-a\n*** End Patch", "does not exist"},
		"nothing to delete":      {"*** Begin Patch\n*** Delete File: g\n*** End Patch", "does not exist"},
		"a file that exists":     {"*** Begin Patch\n*** Add File: f\n+a\n*** End Patch", "exists already"},
		"moved onto a file":      {"*** Begin Patch\n*** Update File: f\n*** Move to: h\n*** End Patch", "exists already"},
		"twice":                  {"*** Begin Patch\n*** Delete File: f\n*** Update File: ./f\n@@\n-a\n*** End Patch", "twice"},
		"over a link":            {"*** Begin Patch\n*** Delete File: f\n*** Update File: link\n@@\n-a\n*** End Patch", "twice"},
		"other lines":            {"*** Begin Patch\n*** Update File: f\n@@\n-nothing like it\n*** End Patch", "is not in"},
		"out of order":           {"*** Begin Patch\n*** Update File: f\n@@\n-c\n@@\n-a\n*** End Patch", "in the order of the file"},
		"only added":             {"*** Begin Patch\n*** Update File: f\n@@\n+x\n*** End Patch", "says not where"},
		"a name that is nowhere": {"*** Begin Patch\n*** Update File: h\n@@ nowhere\n-a\n+b\n*** End Patch", "several times, at 1 and 2"},
		"the second of two":      {"*** Begin Patch\n*** Update File: f\n@@\n-a\n*** Update File: g\n@@\n-a\n*** End Patch", "does not exist"},
		"a binary file":          {"*** Begin Patch\n*** Update File: binary\n@@\n-a\n*** End Patch", "binary"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := filestest.NewBench(t, files.Config{}, applypatch.New)
			b.Write("f", "a\nb\nc\n")
			b.Write("h", "a\na\n")
			b.Write("binary", "\x7f\x00a")
			must.Succeed(t, os.Symlink("f", b.Path("link")))
			b.Fails(&event.ApplyPatchAction{Patch: c.patch}, c.want)
			if b.Content("f") != "a\nb\nc\n" || b.Content("h") != "a\na\n" || b.Content("n") != "(none)" {
				t.Error("a refused patch changed something")
			}
		})
	}
}

func TestCommit(t *testing.T) {
	t.Parallel()
	b := filestest.NewBench(t, files.Config{}, applypatch.New)
	b.Write("old.sh", "a\nb\n")
	must.Succeed(t, os.Chmod(b.Path("old.sh"), 0o755))
	b.Write("same", "x\n")
	b.Write("gone", "y\n")
	b.Write("binary", "\x00")
	obs := b.Run(&event.ApplyPatchAction{Patch: "```\n*** Begin Patch\n*** Delete File: gone\n*** Delete File: binary\n*** Add File: d/new\n+n\n" +
		"*** Update File: old.sh\n*** Move to: d/run.sh\n@@\n a\n-b\n+B\n*** Update File: same\n*** Move to: moved\n*** End Patch\n```"}).(*event.ApplyPatchObservation)
	want := event.Map[event.PatchChange]{
		"gone":   {Type: "delete", OldContent: new("y\n")},
		"binary": {Type: "delete"},
		"d/new":  {Type: "add", NewContent: new("n\n")},
		"old.sh": {Type: "update", OldContent: new("a\nb\n"), NewContent: new("a\nB\n"), MovePath: new("d/run.sh")},
		"same":   {Type: "update", OldContent: new("x\n"), NewContent: new("x\n"), MovePath: new("moved")},
	}
	if obs.IsError {
		t.Fatal(event.JoinText(obs.Content))
	}
	if diff := cmp.Diff(want, obs.Commit.Changes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, content := range map[string]string{"gone": "(none)", "binary": "(none)", "d/new": "n\n", "old.sh": "(none)", "d/run.sh": "a\nB\n", "same": "(none)", "moved": "x\n"} {
		if got := b.Content(name); got != content {
			t.Errorf("%s: %q", name, got)
		}
	}
	if info, err := os.Stat(b.Path("d/run.sh")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the mode of a moved file: %v, %v", info, err)
	}
	var paths []string
	for _, c := range event.FileChanges(obs) {
		paths = append(paths, c.Path)
	}
	if diff := cmp.Diff([]string{"binary", "d/new", "gone", "d/run.sh", "moved"}, paths); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

// TestPutBack has a patch whose last file cannot be written: a directory stands where one has to be made.
func TestPutBack(t *testing.T) {
	t.Parallel()
	b := filestest.NewBench(t, files.Config{}, applypatch.New)
	b.Write("a", "1\n")
	b.Write("m", "2\n")
	b.Write("file", "")
	must.Succeed(t, os.Chmod(b.Path("a"), 0o755))
	b.Fails(patch("*** Update File: a\n@@\n-1\n+one\n*** Update File: m\n*** Move to: far/away/moved\n@@\n-2\n+two\n*** Add File: deep/er/n\n+n\n*** Add File: new\n+n\n*** Add File: new/below\n+n"), "Nothing was changed")
	for name, content := range map[string]string{"a": "1\n", "m": "2\n", "new": "(none)"} {
		if got := b.Content(name); got != content {
			t.Errorf("%s: %q", name, got)
		}
	}
	for _, dir := range []string{"far", "deep"} {
		if _, err := os.Lstat(b.Path(dir)); !os.IsNotExist(err) {
			t.Errorf("the directory %s stays: %v", dir, err)
		}
	}
	if info, err := os.Stat(b.Path("a")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("mode: %v, %v", info, err)
	}
}

// TestGenerated makes patches of generated edits: they give the file that they were made from.
func TestGenerated(t *testing.T) {
	t.Parallel()
	b := filestest.NewBench(t, files.Config{}, applypatch.New)
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom([]string{"a", "b", "  c", "", "+", "-x", "@@", "é"})
		var before, after, hunk []string
		for range rapid.IntRange(1, 12).Draw(t, "lines") {
			text := line.Draw(t, "line")
			switch rapid.IntRange(0, 2).Draw(t, "op") {
			case 0:
				before, after, hunk = append(before, text), append(after, text), append(hunk, " "+text)
			case 1:
				before, hunk = append(before, text), append(hunk, "-"+text)
			case 2:
				after, hunk = append(after, text), append(hunk, "+"+text)
			}
		}
		if len(before) == 0 || !strings.ContainsAny(strings.Join(first(hunk), ""), "+-") {
			return
		}
		must.Succeed(t, os.WriteFile(b.Path("f"), []byte(strings.Join(before, "\n")+"\n"), 0o644))
		b.OK(patch("*** Update File: f\n@@\n" + strings.Join(hunk, "\n")))
		want := strings.Join(append(after, ""), "\n")
		if got := b.Content("f"); got != want {
			t.Fatalf("%q, want %q; hunk %q", got, want, hunk)
		}
	})
}

// first returns the first characters of lines.
func first(lines []string) (marks []string) {
	for _, l := range lines {
		marks = append(marks, l[:1])
	}
	return marks
}

// FuzzPatch has no patch panic, or change a file that it does not name.
func FuzzPatch(f *testing.F) {
	for _, seed := range []string{
		"*** Begin Patch\n*** Update File: f\n@@ a\n a\n-b\n+c\n*** End of File\n*** End Patch",
		"*** Begin Patch\n*** Update File: f\n*** Move to: g\n@@\n+x\n*** End Patch",
		"```\n*** Begin Patch\n*** Delete File: f\n*** End Patch\n```", "*** Begin Patch\n*** Add File: n\n+\n*** End Patch",
		"apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: f\n \n-\n*** End Patch\nEOF", "*** Begin Patch\n*** Update File: f\n@@\n",
	} {
		f.Add(seed, "a\nb\n")
	}
	f.Fuzz(func(t *testing.T, text, content string) {
		for _, path := range event.PatchedFiles(text) {
			if path != "f" && path != "g" {
				return // nothing outside of the test's directory
			}
		}
		b := filestest.NewBench(t, files.Config{}, applypatch.New)
		b.Write("f", content)
		b.Write("other", "stays")
		obs := b.Run(&event.ApplyPatchAction{Patch: text}).(*event.ApplyPatchObservation)
		if b.Content("other") != "stays" {
			t.Error("another file was changed")
		}
		if obs.IsError && b.Content("f") != content {
			t.Error("a refused patch changed the file")
		}
	})
}
