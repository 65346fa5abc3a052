package editor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/deft-dev/deft/event"
)

// contextLines is how many lines around an edit the model is shown.
const contextLines = 4

// maxMatches bounds how many occurrences of an old_str are searched for.
const maxMatches = 20

// openForEdit reads the text file to edit.
func (e *Editor) openForEdit(path string) (*file, document, error) {
	f, d, err := e.readText(path)
	if errors.Is(err, errBinary) {
		return nil, d, refuse("%s is a binary file; this tool edits text", path)
	}
	if err != nil {
		return nil, d, e.explain(path, err)
	}
	return f, d, nil
}

func (e *Editor) replace(path string, a *event.FileEditorAction, obs *event.FileEditorObservation) error {
	newStr := ""
	if a.NewStr != nil {
		newStr = *a.NewStr
	}
	oldNorm, newNorm := plainNewlines(*a.OldStr), plainNewlines(newStr)
	switch {
	case *a.OldStr == newStr:
		return refuse("old_str and new_str are the same; nothing was changed")
	case oldNorm == newNorm:
		return refuse("old_str and new_str differ only in line endings, which this tool keeps; use the terminal to convert them")
	}
	f, d, err := e.openForEdit(path)
	if err != nil {
		return err
	}
	l := newLines(d.text)
	at := matches(l.text, oldNorm)
	switch len(at) {
	case 0:
		return notFound(path, l.text, oldNorm)
	case 1:
	default:
		return ambiguous(path, l.text, at)
	}
	after := l.splice(at[0], at[0]+len(oldNorm), newNorm)
	if err := e.save(f, d, after, obs); err != nil {
		return err
	}
	first := lineOf(l.text, at[0])
	e.report(path, f, after, first, first+strings.Count(newNorm, "\n"), obs)
	return nil
}

// matches returns the offsets of needle in text, overlapping ones too, up to
// maxMatches.
func matches(text, needle string) []int {
	var at []int
	for from := 0; len(at) < maxMatches; {
		i := strings.Index(text[from:], needle)
		if i < 0 {
			break
		}
		at = append(at, from+i)
		from += i + 1
	}
	return at
}

func ambiguous(path, text string, at []int) error {
	numbers := make([]string, len(at))
	for i, pos := range at {
		numbers[i] = fmt.Sprint(lineOf(text, pos))
	}
	more := ""
	if len(at) == maxMatches {
		more = " and maybe more"
	}
	return refuse("old_str is in %s several times, at lines %s%s; nothing was changed. Add lines around it until it is unique.",
		path, strings.Join(numbers, ", "), more)
}

func (e *Editor) insert(path string, a *event.FileEditorAction, obs *event.FileEditorObservation) error {
	f, d, err := e.openForEdit(path)
	if err != nil {
		return err
	}
	l := newLines(d.text)
	total := len(split(l.text))
	n := *a.InsertLine
	if n < 0 || n > total {
		return refuse("insert_line is %d, but %s has %d lines: give 0 for the top up to %d for the end", n, path, total, total)
	}
	text := plainNewlines(*a.NewStr)
	at := lineStart(l.text, n)
	unfinished := at > 0 && l.text[at-1] != '\n' // the last line has no newline
	switch {
	case unfinished:
		text = "\n" + text
	case !strings.HasSuffix(text, "\n"):
		text += "\n"
	}
	after := l.splice(at, at, text)
	if err := e.save(f, d, after, obs); err != nil {
		return err
	}
	e.report(path, f, after, n+1, n+max(len(split(plainNewlines(*a.NewStr))), 1), obs)
	return nil
}

// lineStart returns the offset behind line n.
func lineStart(text string, n int) int {
	at := 0
	for range n {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			return len(text)
		}
		at += i + 1
	}
	return at
}

// save writes the new text, after it has saved the old file for undo_edit.
func (e *Editor) save(f *file, d document, after string, obs *event.FileEditorObservation) error {
	data, err := d.encode(after)
	if err != nil {
		return err
	}
	if int64(len(data)) > e.cfg.MaxFileSize {
		return tooLarge("the new content", int64(len(data)), e.cfg.MaxFileSize)
	}
	drop, err := e.undo.push(f.real, f.raw, true, data)
	if err != nil {
		return err
	}
	if err := replaceFile(f, data); err != nil {
		drop()
		return e.explain(f.real, err)
	}
	if e.seen.changed(f.real, f.raw) {
		obs.Content = append(obs.Content, event.Text("(The file had been changed by another program since you last saw it.)"))
	}
	e.seen.note(f.real, data)
	e.contents(obs, &d.text, &after)
	return nil
}

// report shows the lines around an edit.
func (e *Editor) report(path string, f *file, after string, first, last int, obs *event.FileEditorObservation) {
	all := split(newLines(after).text)
	text := fmt.Sprintf("%s was edited.", path)
	if f.stat.Nlink > 1 {
		text += fmt.Sprintf(" It had %d other hard links; they keep the old content.", f.stat.Nlink-1)
	}
	from, to := max(1, first-contextLines), min(len(all), last+contextLines)
	if from <= to {
		text += fmt.Sprintf(" Lines %d to %d of %d are now:\n%s", from, to, len(all), e.number(all, from, to))
	} else {
		text += " It is empty now."
	}
	obs.Content = append(obs.Content, event.Text(text))
}

func (e *Editor) create(path string, a *event.FileEditorAction, obs *event.FileEditorObservation) error {
	target, err := createTarget(path)
	if err != nil {
		return err
	}
	data := []byte(*a.FileText)
	if int64(len(data)) > e.cfg.MaxFileSize {
		return tooLarge("file_text", int64(len(data)), e.cfg.MaxFileSize)
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return e.explain(path, err)
	}
	// The directories exist now, so links in them can be followed.
	dir, err := evalPath(filepath.Dir(target))
	if err != nil {
		return e.explain(path, err)
	}
	target = filepath.Join(dir, filepath.Base(target))
	drop, err := e.undo.push(target, nil, false, data)
	if err != nil {
		return err
	}
	if err := createFile(target, data); err != nil {
		drop()
		if errors.Is(err, fs.ErrExist) {
			return exists(path)
		}
		return e.explain(path, err)
	}
	e.seen.note(target, data)
	obs.PrevExist = false
	e.contents(obs, nil, a.FileText)
	obs.Content = event.Texts(fmt.Sprintf("%s was created with %d lines.", path, len(split(plainNewlines(*a.FileText)))))
	return nil
}

// createTarget checks that nothing is at path.
func createTarget(path string) (string, error) {
	if why := forbidden(path); why != "" {
		return "", refuse("%s: %s", path, why)
	}
	info, err := os.Lstat(path)
	switch {
	case err == nil && info.IsDir():
		return "", refuse("%s is a directory", path)
	case err == nil && info.Mode()&os.ModeSymlink != 0:
		if _, err := os.Stat(path); os.IsNotExist(err) {
			to, _ := os.Readlink(path) // only for the message
			return "", refuse("%s is a symbolic link to %s, which does not exist; create that instead", path, to)
		}
		return "", exists(path)
	case err == nil:
		return "", exists(path)
	}
	return path, nil
}

func exists(path string) error {
	return refuse("%s exists already; create does not overwrite. Change it with str_replace or insert.", path)
}
