package edit_test

import (
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/tool/edit"
	"github.com/deft-dev/deft/tool/files"
	"github.com/deft-dev/deft/tool/files/filestest"
)

func replace(path, old, text string) event.Action {
	return &event.EditAction{FilePath: path, OldString: old, NewString: text, ExpectedReplacements: 1}
}

func TestEdit(t *testing.T) {
	t.Parallel()
	filestest.Run(t, filestest.Tool{
		New: edit.New, Change: replace,
		Create: func(path, line string) event.Action { return replace(path, "", line+"\n") },
	})
}

func TestReplacementsAreCounted(t *testing.T) {
	t.Parallel()
	b := filestest.NewBench(t, files.Config{}, edit.New)
	b.Write("f", "a\nb\r\na\na\n")
	b.Fails(replace("f", "a", "c"), "3 times, not 1 times", "lines 1, 3, 4")
	b.Fails(replace("f", "x", "c"), "not in")
	b.Fails(replace("f", "a\r\n", "a\n"), "only in line endings")
	b.Fails(replace("f", "", "c"), "exists already", "write_file")
	obs := b.Run(&event.EditAction{FilePath: "f", OldString: "a\n", NewString: "cc\n", ExpectedReplacements: 3}).(*event.EditObservation)
	if obs.IsError || obs.ReplacementsMade != 3 || obs.IsNewFile || *obs.OldContent != "a\nb\r\na\na\n" || *obs.NewContent != "cc\nb\r\ncc\ncc\n" {
		t.Errorf("%+v", obs)
	}
	if got := b.Content("f"); got != *obs.NewContent {
		t.Errorf("%q", got)
	}
	made := b.Run(replace("new", "", "x")).(*event.EditObservation)
	if made.IsError || !made.IsNewFile || made.ReplacementsMade != 1 || made.OldContent != nil || *made.NewContent != "x" {
		t.Errorf("%+v", made)
	}
	b.Write("many", strings.Repeat("a", 1000))
	b.Fails(&event.EditAction{FilePath: "many", OldString: "a", NewString: strings.Repeat("x", 1<<20), ExpectedReplacements: 1000}, "bytes")
	if _, err := edit.Definition().Decode([]byte(`{"file_path":"f","old_string":"a","new_string":"b","expected_replacements":0}`)); err == nil {
		t.Error("no replacement was accepted")
	}
}
