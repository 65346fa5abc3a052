package runcommand

import (
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/state"
)

func TestTask(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := write(t, filepath.Join(dir, "task"), " from a file\n")
	picture := write(t, filepath.Join(dir, "p.png"), "\x89PNG\x0D\x0A\x1A\x0Arest")
	binary := write(t, filepath.Join(dir, "b"), "a\x00b")
	large := write(t, filepath.Join(dir, "large"), "\x89PNG\x0D\x0A\x1A\x0A"+strings.Repeat("a", maxPicture))
	fences := strings.NewReader("a ``` b\n")
	for name, tt := range map[string]struct {
		src  TaskSource
		want string // "!" and a part of the error
	}{
		"words":           {TaskSource{Words: []string{"fix", "it"}}, "fix it"},
		"file":            {TaskSource{File: file}, "from a file"},
		"input":           {TaskSource{Input: strings.NewReader("piped\n")}, "piped"},
		"input, optional": {TaskSource{Input: strings.NewReader("piped"), Optional: true}, ""},
		"words and input": {TaskSource{Words: []string{"fix"}, Input: fences, Piped: true}, "fix\n\nStandard input:\n````\na ``` b\n````"},
		"file and input":  {TaskSource{File: file, Input: strings.NewReader("x"), Piped: true}, "from a file\n\nStandard input:\n```\nx\n```"},
		"resumed":         {TaskSource{Words: []string{"fix"}, Input: strings.NewReader("x"), Piped: true, Optional: true}, "fix\n\nStandard input:\n```\nx\n```"},
		"not piped":       {TaskSource{Words: []string{"fix"}, Input: strings.NewReader("x")}, "fix"},
		"piped nothing":   {TaskSource{Words: []string{"fix"}, Input: strings.NewReader(" \n"), Piped: true}, "fix"},
		"piped binary":    {TaskSource{Words: []string{"fix"}, Input: strings.NewReader("\x7fELF\x00\x00"), Piped: true}, "!standard input is not text"},
		"piped Latin-1":   {TaskSource{Words: []string{"fix"}, Input: strings.NewReader("caf\xe9 é"), Piped: true}, "fix\n\nStandard input (bytes that are no UTF-8 were read as Windows-1252):\n```\ncafé é\n```"},
		"a zero in a log": {TaskSource{Words: []string{"fix"}, Input: strings.NewReader(strings.Repeat("line\n", 100) + "\x00end"), Piped: true}, "fix\n\nStandard input (zero bytes were read as spaces):\n```\n" + strings.Repeat("line\n", 100) + " end\n```"},
		"piped too much": {
			TaskSource{Words: []string{"fix"}, Input: strings.NewReader("begin" + strings.Repeat("ü", 2*maxTask) + "end"), Piped: true},
			"fix\n\nStandard input (3145736 bytes in the middle are left out):\n```\nbegin" + strings.Repeat("ü", (maxTask/2-5)/2) + "\n[3145736 bytes left out here]\n" + strings.Repeat("ü", (maxTask/2-3)/2) + "end\n```",
		},
		"attached text":   {TaskSource{Words: []string{"fix"}, Attach: []string{file}}, "fix\n\nAttached file task:\n```\n from a file\n```"},
		"attached binary": {TaskSource{Words: []string{"fix"}, Attach: []string{binary}}, "!neither a picture (PNG, JPEG, GIF, WebP) nor text"},
		"attached large":  {TaskSource{Words: []string{"fix"}, Attach: []string{large}}, "!larger than 10 MiB"},
		"attached dir":    {TaskSource{Words: []string{"fix"}, Attach: []string{dir}}, "!not a regular file"},
		"attached none":   {TaskSource{Words: []string{"fix"}, Attach: []string{dir + "/none"}}, "!cannot be read"},
		"only attached":   {TaskSource{Optional: true, Attach: []string{picture}}, "!--attach needs a task"},
		"nothing":         {TaskSource{}, "!no task"},
		"two":             {TaskSource{Words: []string{"x"}, File: file}, "!two tasks"},
		"no file":         {TaskSource{File: file + "x"}, "!cannot be read"},
		"blank":           {TaskSource{Words: []string{" "}}, "!is empty"},
		"not text":        {TaskSource{Input: strings.NewReader("a\xff")}, "aÿ"},
		"a zero":          {TaskSource{Input: strings.NewReader("line\n\x00end")}, "line\n end"},
		"zeros":           {TaskSource{Input: strings.NewReader("a\x00\x00")}, "!not text"},
		"too long":        {TaskSource{Input: strings.NewReader("b" + strings.Repeat("a", maxTask) + "e")}, "b" + strings.Repeat("a", maxTask/2-1) + "\n[2 bytes left out here]\n" + strings.Repeat("a", maxTask/2-1) + "e"},
		"long file":       {TaskSource{File: write(t, filepath.Join(dir, "long"), strings.Repeat("a", maxTask+1))}, "!larger than 1024 KiB"},
	} {
		got, err := tt.src.Read()
		if part, fails := strings.CutPrefix(tt.want, "!"); fails {
			if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v, want %q", name, err, part)
			}
		} else if err != nil || got.Text != tt.want {
			t.Errorf("%s: %q, %v, want %q", name, got.Text, err, tt.want)
		}
	}
	got, err := TaskSource{Words: []string{"look"}, Attach: []string{picture, file}}.Read()
	if err != nil || len(got.Pictures) != 1 || got.Pictures[0].ImageURLs[0] != "data:image/png;base64,iVBORw0KGgpyZXN0" || len(got.Content()) != 2 {
		t.Errorf("a picture and a text: %+v, %v", got, err)
	}
	if got := Title("  one\ntwo"); got != "one" {
		t.Errorf("title %q", got)
	}
	if got := []rune(Title(strings.Repeat("ä", 100))); len(got) != 80 || got[79] != '…' {
		t.Errorf("a long title has %d characters: %s", len(got), string(got))
	}
}

func TestExit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status state.Status
		code   string
		want   int
	}{
		{state.Finished, "", 0}, {state.Idle, "", 0}, {state.Stuck, "", fault.ExitStuck}, {state.Paused, "", fault.ExitInterrupted},
		{state.Confirming, "", fault.ExitInterrupted}, {state.Errored, "MaxIterationsReached", fault.ExitLimit},
		{state.Errored, "LLMAuthenticationError", fault.ExitRefused}, {state.Errored, "LLMTimeoutError", fault.ExitUnavailable},
		{state.Errored, "StorageFull", fault.ExitStorage}, {state.Errored, "?", fault.ExitError},
	} {
		got := 0
		if exit, ok := errors.AsType[Exit](exitOf(tt.status, tt.code)); ok {
			got = int(exit)
		}
		if got != tt.want {
			t.Errorf("%s %s: exit code %d, want %d", tt.status, tt.code, got, tt.want)
		}
	}
}

func TestHasTask(t *testing.T) {
	t.Parallel()
	agent := &event.MessageEvent{Base: event.NewBase(event.SourceAgent)}
	if hasTask([]event.Event{agent}) || !hasTask([]event.Event{agent, event.NewUserMessage("x")}) {
		t.Error("only what a user says is a task")
	}
}

// endless is input that does not end until the user was told.
type endless chan struct{}

func (e endless) Read([]byte) (int, error) {
	<-e
	return 0, io.EOF
}

// TestPipeWithoutEnd tells the user that the input has not ended.
func TestPipeWithoutEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := make(endless)
		said := ""
		got, err := TaskSource{Words: []string{"fix"}, Input: in, Piped: true, Tell: func(s string) {
			said = s
			close(in)
		}}.Read()
		if err != nil || got.Text != "fix" || !strings.Contains(said, "has not ended yet") {
			t.Errorf("%q, %v, said %q", got.Text, err, said)
		}
	})
}
