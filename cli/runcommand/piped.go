package runcommand

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/textfile"
)

// slowInput is how long the input may take before the user is told that it is read.
const slowInput = time.Second

// piped is the output of another program, read from standard input.
type piped struct {
	text string
	note string // the change of the text, in words; "" for none
}

// readPiped reads material to its end. Of more than maxTask bytes the beginning and the end
// are kept: in a build log they say most. tell is told if the input does not end.
func readPiped(in io.Reader, tell func(string)) (piped, error) {
	if tell != nil {
		waiting := time.AfterFunc(slowInput, func() {
			tell("reading standard input, which has not ended yet; redirect it from /dev/null to leave it out")
		})
		defer waiting.Stop()
	}
	const half = maxTask / 2
	head, err := io.ReadAll(io.LimitReader(in, half))
	var tail lastBytes
	if err == nil {
		_, err = io.Copy(&tail, in)
	}
	if err != nil {
		return piped{}, err
	}
	cut := tail.size - int64(len(tail.kept(half)))
	end := tail.kept(half)
	if cut > 0 {
		head, end = trimmed(head, false), trimmed(end, true)
	}
	zeros := bytes.Count(head, []byte{0}) + bytes.Count(end, []byte{0})
	text, ok := material(head, end, zeros, cut)
	if !ok {
		return piped{}, errBinary
	}
	p := piped{text: text}
	var notes []string
	if cut > 0 {
		notes = append(notes, fmt.Sprintf("%d bytes in the middle are left out", cut))
	}
	if zeros > 0 {
		notes = append(notes, "zero bytes were read as spaces")
	}
	if cut == 0 {
		head, end = slices.Concat(head, end), nil // a character may be in both
	}
	if !utf8.Valid(head) || !utf8.Valid(end) {
		notes = append(notes, "bytes that are no UTF-8 were read as Windows-1252")
	}
	p.note = strings.Join(notes, "; ")
	return p, nil
}

var errBinary = errors.New("it is not text")

// material makes text of the beginning and the end of input, with a line where its middle was
// cut out. Some programs write a few zeros among their text.
func material(head, end []byte, zeros int, cut int64) (text string, ok bool) {
	if zeros > 1+(len(head)+len(end))/100 {
		return "", false
	}
	readable := func(b []byte) (string, bool) {
		return textfile.Prose(bytes.ReplaceAll(b, []byte{0}, []byte{' '}))
	}
	if cut == 0 {
		return readable(slices.Concat(head, end))
	}
	first, whole := readable(head)
	last, rest := readable(end)
	return fmt.Sprintf("%s\n[%d bytes left out here]\n%s", first, cut, last), whole && rest
}

// trimmed is text without the part of a character at its cut end.
func trimmed(b []byte, begins bool) []byte {
	for i := 0; i < utf8.UTFMax-1 && len(b) > 0; i++ {
		if begins {
			if utf8.RuneStart(b[0]) {
				break
			}
			b = b[1:]
			continue
		}
		if start := len(b) - 1 - i; start >= 0 && utf8.RuneStart(b[start]) {
			if b[start] >= utf8.RuneSelf && !utf8.FullRune(b[start:]) {
				return b[:start]
			}
			break
		}
	}
	return b
}

// lastBytes is a writer that keeps the end of its input.
type lastBytes struct {
	buf  []byte
	size int64
}

// Write implements io.Writer.
func (l *lastBytes) Write(p []byte) (int, error) {
	l.size += int64(len(p))
	l.buf = append(l.buf, p...)
	if len(l.buf) > 2*maxTask {
		l.buf = append(l.buf[:0], l.buf[len(l.buf)-maxTask:]...)
	}
	return len(p), nil
}

// kept returns at most n bytes of the end.
func (l *lastBytes) kept(n int) []byte { return l.buf[max(0, len(l.buf)-n):] }

// input reads standard input, and tells the user how it was changed.
func (t TaskSource) input() (piped, error) {
	slow := t.Tell
	if !t.Piped {
		slow = nil // a person is writing
	}
	p, err := readPiped(t.Input, slow)
	if errors.Is(err, errBinary) {
		return p, fault.New(fault.Invalid, "standard input is not text").
			Hint("put binary material in a file of the workspace and name the file in the task")
	}
	if err == nil && p.note != "" && t.Tell != nil {
		t.Tell("standard input: " + p.note)
	}
	return p, err
}

// fromInput reads the whole task from standard input.
func (t TaskSource) fromInput() (Task, error) {
	p, err := t.input()
	switch {
	case fault.Is(err, fault.Invalid):
		return Task{}, err
	case err != nil:
		return Task{}, fault.New(fault.Invalid, "there is no task, and standard input cannot be read").Because(err).Hint(NoTask)
	case strings.TrimSpace(p.text) == "":
		return Task{}, fault.New(fault.Invalid, "the task from standard input is empty").Hint(NoTask)
	}
	return Task{Text: strings.TrimSpace(p.text)}, nil
}

// addPiped adds standard input to a task.
func (t TaskSource) addPiped(task Task) (Task, error) {
	p, err := t.input()
	if fault.Is(err, fault.Invalid) {
		return task, err
	}
	if err != nil {
		return task, fault.New(fault.Invalid, "standard input cannot be read").Because(err).Hint("redirect it from /dev/null to leave it out")
	}
	if strings.TrimSpace(p.text) == "" {
		return task, nil
	}
	heading := "Standard input:"
	if p.note != "" {
		heading = "Standard input (" + p.note + "):"
	}
	task.Text += fenced(heading, p.text)
	return task, nil
}
