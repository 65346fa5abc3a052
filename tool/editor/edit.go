package editor

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/tool/files"
)

// contextLines is how many lines around an edit the model is shown.
const contextLines = 4

// openForEdit reads the text file to edit.
func (e *editor) openForEdit(path string) (*files.File, files.Document, error) {
	f, d, err := e.files.ReadText(path)
	if errors.Is(err, files.ErrBinary) {
		return nil, d, files.Refuse("%s is a binary file; this tool edits text", path)
	}
	if err != nil {
		return nil, d, e.files.Explain(path, err)
	}
	return f, d, nil
}

func (e *editor) replace(path string, a *event.FileEditorAction, obs *event.FileEditorObservation) error {
	newStr := ""
	if a.NewStr != nil {
		newStr = *a.NewStr
	}
	oldNorm, newNorm := files.PlainNewlines(*a.OldStr), files.PlainNewlines(newStr)
	switch {
	case *a.OldStr == newStr:
		return files.Refuse("old_str and new_str are the same; nothing was changed")
	case oldNorm == newNorm:
		return files.Refuse("old_str and new_str differ only in line endings, which this tool keeps; use the terminal to convert them")
	}
	f, d, err := e.openForEdit(path)
	if err != nil {
		return err
	}
	l := files.NewLines(d.Text)
	at := files.Matches(l.Text, oldNorm)
	switch len(at) {
	case 0:
		return files.NotFound("old_str", path, l.Text, oldNorm)
	case 1:
	default:
		return ambiguous(path, l.Text, at)
	}
	after := l.Splice(files.Edit{From: at[0], To: at[0] + len(oldNorm), With: newNorm})
	if err := e.save(f, d, after, obs); err != nil {
		return err
	}
	first := files.LineOf(l.Text, at[0])
	e.report(path, f, after, first, first+strings.Count(newNorm, "\n"), obs)
	return nil
}

func ambiguous(path, text string, at []int) error {
	return files.Refuse("old_str is in %s several times, at lines %s; nothing was changed. Add lines around it until it is unique.",
		path, files.LineNumbers(text, at))
}

func (e *editor) insert(path string, a *event.FileEditorAction, obs *event.FileEditorObservation) error {
	f, d, err := e.openForEdit(path)
	if err != nil {
		return err
	}
	l := files.NewLines(d.Text)
	total := len(files.Split(l.Text))
	n := *a.InsertLine
	if n < 0 || n > total {
		return files.Refuse("insert_line is %d, but %s has %d lines: give 0 for the top up to %d for the end", n, path, total, total)
	}
	text := files.PlainNewlines(*a.NewStr)
	at := lineStart(l.Text, n)
	unfinished := at > 0 && l.Text[at-1] != '\n' // the last line has no newline
	switch {
	case unfinished:
		text = "\n" + text
	case !strings.HasSuffix(text, "\n"):
		text += "\n"
	}
	after := l.Splice(files.Edit{From: at, To: at, With: text})
	if err := e.save(f, d, after, obs); err != nil {
		return err
	}
	e.report(path, f, after, n+1, n+max(len(files.Split(files.PlainNewlines(*a.NewStr))), 1), obs)
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

// save writes the new text.
func (e *editor) save(f *files.File, d files.Document, after string, obs *event.FileEditorObservation) error {
	changed, err := e.files.Save(f, d, after)
	if err != nil {
		return err
	}
	if changed {
		obs.Content = append(obs.Content, event.Text("(The file had been changed by another program since you last saw it.)"))
	}
	obs.OldContent, obs.NewContent = e.files.Contents(&d.Text, &after)
	return nil
}

// report shows the lines around an edit.
func (e *editor) report(path string, f *files.File, after string, first, last int, obs *event.FileEditorObservation) {
	all := files.Split(files.NewLines(after).Text)
	text := path + " was edited." + f.Remarks(false)
	from, to := max(1, first-contextLines), min(len(all), last+contextLines)
	if from <= to {
		text += fmt.Sprintf(" Lines %d to %d of %d are now:\n%s", from, to, len(all), e.numbered(all, from, to))
	} else {
		text += " It is empty now."
	}
	obs.Content = append(obs.Content, event.Text(text))
}

func (e *editor) create(path string, a *event.FileEditorAction, obs *event.FileEditorObservation) error {
	_, err := e.files.Create(path, []byte(*a.FileText))
	if errors.Is(err, fs.ErrExist) {
		return files.Refuse("%s exists already; create does not overwrite. Change it with str_replace or insert.", path)
	}
	if err != nil {
		return err
	}
	obs.PrevExist = false
	obs.OldContent, obs.NewContent = e.files.Contents(nil, a.FileText)
	obs.Content = event.Texts(fmt.Sprintf("%s was created with %d lines.", path, len(files.Split(files.PlainNewlines(*a.FileText)))))
	return nil
}

// undo takes the last edit back.
func (e *editor) undo(path string, obs *event.FileEditorObservation) error {
	u, err := e.files.Undo(path)
	if err != nil {
		return err
	}
	if u.Removed {
		obs.Content = event.Texts(path + " was removed: the last edit had created it.")
		return nil
	}
	obs.OldContent, obs.NewContent = e.files.Contents(&u.Was.Text, &u.Now.Text)
	all := files.Split(files.NewLines(u.Now.Text).Text)
	obs.Content = event.Texts(fmt.Sprintf("The last edit of %s was undone. It is now:\n%s", path, e.numbered(all, 1, len(all))))
	return nil
}
