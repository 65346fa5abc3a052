package writefile_test

import (
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/tool/files"
	"github.com/deft-dev/deft/tool/files/filestest"
	"github.com/deft-dev/deft/tool/writefile"
)

func write(path, content string) event.Action {
	return &event.WriteFileAction{FilePath: path, Content: content}
}

func TestWriteFile(t *testing.T) {
	t.Parallel()
	filestest.Run(t, filestest.Tool{
		New:    writefile.New,
		Create: func(path, line string) event.Action { return write(path, line+"\n") },
	})
}

func TestContentIsReplaced(t *testing.T) {
	t.Parallel()
	b := filestest.NewBench(t, files.Config{MaxFileSize: 100}, writefile.New)
	obs := b.Run(write("f", "one\n")).(*event.WriteFileObservation)
	if obs.IsError || !obs.IsNewFile || obs.OldContent != nil || *obs.NewContent != "one\n" || *obs.FilePath != b.Path("f") {
		t.Errorf("%+v", obs)
	}
	obs = b.Run(write("f", "two\n")).(*event.WriteFileObservation)
	if obs.IsError || obs.IsNewFile || *obs.OldContent != "one\n" || *obs.NewContent != "two\n" {
		t.Errorf("%+v", obs)
	}
	for name, c := range map[string]struct{ before, content, after string }{
		"line endings stay": {"a\r\nb\r\n", "b\nc\n", "b\r\nc\r\n"},
		"nothing is new":    {"a\r\n", "a\n", "a\r\n"},
		"a binary file":     {"\x7fELF\x00", "text\n", "text\n"},
		"an old encoding":   {"caf\xe9\n", "th\u00e9\n", "th\xe9\n"},
		"to nothing":        {"a\n", "", ""},
	} {
		b.Write("g", c.before)
		b.OK(write("g", c.content))
		if got := b.Content("g"); got != c.after {
			t.Errorf("%s: %q, want %q", name, got, c.after)
		}
	}
	b.Write("h", "caf\xe9\n")
	b.Fails(write("h", "漢\n"), "cannot hold")
	b.Fails(write("f", string(make([]byte, 101))), "100 bytes")
	if got := b.Content("f"); got != "two\n" {
		t.Errorf("a refused write left %q", got)
	}
}
