package editor

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/tool/files"
)

// Bounds on directory listings.
const (
	maxListed  = 1000 // entries shown
	maxScanned = 5000 // entries of one directory looked at
)

// imageTypes are the media types that view shows as images.
var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp"}

func (e *editor) view(ctx context.Context, path string, span []int, obs *event.FileEditorObservation) error {
	real, err := files.RealPath(path)
	if err != nil {
		return e.files.Explain(path, err)
	}
	info, err := os.Lstat(real)
	if err != nil {
		return e.files.Explain(path, err)
	}
	if info.IsDir() {
		if len(span) > 0 {
			return files.Refuse("%s is a directory; view_range is for files", path)
		}
		return e.viewDir(ctx, path, real, obs)
	}
	f, d, err := e.files.ReadText(path)
	switch {
	case errors.Is(err, files.ErrBinary):
		return viewBinary(path, f, obs)
	case err != nil:
		return e.files.Explain(path, err)
	}
	e.files.Seen(f)
	text, err := e.page(path, d, span)
	if err != nil {
		return err
	}
	obs.Content = event.Texts(text)
	return nil
}

// viewBinary shows an image, and refuses any other binary file.
func viewBinary(path string, f *files.File, obs *event.FileEditorObservation) error {
	kind := http.DetectContentType(f.Raw)
	if !slices.Contains(imageTypes, kind) {
		return files.Refuse("%s is a binary file (%d bytes, looks like %s); this tool shows text and images", path, len(f.Raw), kind)
	}
	obs.Content = event.List[event.Content]{
		event.Text(fmt.Sprintf("%s is an image (%s, %d bytes):", path, kind, len(f.Raw))),
		event.Image("data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(f.Raw)),
	}
	return nil
}

// page renders the lines of span, or all of them.
func (e *editor) page(path string, d files.Document, span []int) (string, error) {
	all := files.Split(files.NewLines(d.Text).Text)
	first, last := 1, len(all)
	if len(span) == 2 {
		first, last = span[0], span[1]
		switch {
		case first < 1 || first > max(len(all), 1):
			return "", files.Refuse("view_range starts at line %d, but the lines of %s are 1 to %d", first, path, len(all))
		case last != -1 && last < first:
			return "", files.Refuse("view_range ends (%d) before it starts (%d); -1 as the end means the last line", last, first)
		}
		if last == -1 || last > len(all) {
			last = len(all)
		}
	}
	if len(all) == 0 {
		return path + " is empty.", nil
	}
	head := fmt.Sprintf("%s, lines %d to %d of %d", path, first, last, len(all))
	if d.Name != "UTF-8" {
		head += " (" + d.Name + ")"
	}
	return head + ":\n" + e.numbered(all, first, last), nil
}

// numbered shows lines with their numbers, and how to see the rest.
func (e *editor) numbered(all []string, first, last int) string {
	text, shown := e.files.Number(all, first, last)
	if shown < last {
		text += fmt.Sprintf("[Clipped before line %d. View the rest with view_range [%d, %d].]\n", shown+1, shown+1, last)
	}
	return text
}

func (e *editor) viewDir(ctx context.Context, path, real string, obs *event.FileEditorObservation) error {
	l := &listing{ctx: ctx, space: e.files.MaxResponse()}
	if err := l.add(path, real, 2); err != nil {
		return e.files.Explain(path, err)
	}
	text := path + "/, two levels, without hidden entries:\n" + l.b.String()
	if l.b.Len() == 0 {
		text = path + "/ has no entries that are not hidden.\n"
	}
	if l.hidden > 0 {
		text += fmt.Sprintf("[%d hidden entries not shown.]\n", l.hidden)
	}
	if l.cut {
		text += "[Clipped: there is more. View a directory further down.]\n"
	}
	obs.Content = event.Texts(text)
	return nil
}

// listing collects the entries of a directory tree, within bounds.
type listing struct {
	ctx    context.Context
	b      strings.Builder
	space  int
	count  int
	hidden int
	cut    bool
}

func (l *listing) add(shown, real string, levels int) error {
	if why := files.Forbidden(real + "/"); why != "" {
		return files.Refuse("%s: %s", shown, why)
	}
	entries, err := files.Names(real, maxScanned)
	if err != nil {
		return err
	}
	l.cut = l.cut || len(entries) == maxScanned
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") {
			l.hidden++
			continue
		}
		name := filepath.Join(shown, entry.Name())
		suffix := "\n"
		switch {
		case entry.IsDir():
			suffix = "/\n"
		case entry.Type()&os.ModeSymlink != 0:
			suffix = "@\n" // not followed, so loops do no harm
		}
		line := strings.ToValidUTF8(name, "\uFFFD") + suffix
		if l.count == maxListed || utf8.RuneCountInString(line) > l.space || l.ctx.Err() != nil {
			l.cut = true
			return nil
		}
		l.b.WriteString(line)
		l.count++
		l.space -= utf8.RuneCountInString(line)
		if entry.IsDir() && levels > 1 {
			if err := l.add(name, filepath.Join(real, entry.Name()), levels-1); err != nil {
				continue // unreadable entries are listed by their names alone
			}
		}
	}
	return nil
}
