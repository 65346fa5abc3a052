package openhands

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/textfile"
	"github.com/deft-dev/deft/internal/zipfile"
)

// maxEntries bounds the files of a zip file.
const maxEntries = 200_000

// Unzipped returns the trajectory that r holds: of a zip file with the directory of a
// conversation, as servers give it for download, its events in their order, else r
// itself. Nothing is unpacked to disk. Invalid for a zip file that holds no conversation
// or several, or more than most bytes of events; reading fails with Invalid if one of its
// files is damaged or is not JSON.
func Unzipped(r *io.SectionReader, most int64) (io.Reader, error) {
	z, err := openZip(r)
	if err != nil {
		return nil, err
	}
	if z == nil {
		return r, nil
	}
	files, err := eventsOf(z, most)
	if err != nil {
		return nil, err
	}
	parts := make([]io.Reader, 0, 2*len(files)+1)
	sep := "["
	for _, f := range files {
		parts, sep = append(parts, bytes.NewReader([]byte(sep)), f), ","
	}
	return io.MultiReader(append(parts, bytes.NewReader([]byte("]")))...), nil
}

// openZip opens a zip file. It returns nil for other files.
func openZip(r *io.SectionReader) (*zip.Reader, error) {
	magic := make([]byte, 2)
	if n, err := r.ReadAt(magic, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, fault.Wrap(err, fault.Unavailable, "read the trajectory")
	} else if n < 2 || string(magic) != "PK" { // no JSON begins so
		return nil, nil
	}
	z, err := zipfile.Open(r, r.Size(), maxEntries)
	if errors.Is(err, zipfile.ErrTooMany) {
		return nil, fault.New(fault.Invalid, fmt.Sprintf("the zip file has more than %d files", maxEntries))
	}
	if err != nil {
		return nil, notTrajectory(fmt.Errorf("the zip file is damaged: %w", err))
	}
	return z, nil
}

// Title returns the title that a conversation has in the zip file r, "" if it has none
// there or r is no zip file. It has the errors of [Unzipped].
func Title(r *io.SectionReader) (string, error) {
	z, err := openZip(r)
	if err != nil || z == nil {
		return "", err
	}
	at := slices.IndexFunc(z.File, func(f *zip.File) bool { return path.Base(f.Name) == metaFile && strings.Count(f.Name, "/") <= 1 })
	if at < 0 {
		return "", nil
	}
	if z.File[at].UncompressedSize64 > maxFile {
		return "", fault.New(fault.Invalid, fmt.Sprintf("%s in the zip file is larger than %d MB", metaFile, maxFile>>20))
	}
	raw, err := readZipped(z.File[at])
	var meta struct {
		Title string `json:"title"`
	}
	if err == nil {
		err = json.Unmarshal(raw, &meta)
	}
	if err != nil {
		return "", fault.New(fault.Invalid, metaFile+" in the zip file cannot be read").Because(err)
	}
	return meta.Title, nil
}

// eventsOf returns the event files of the one conversation in z, in their order.
func eventsOf(z *zip.Reader, most int64) ([]*zippedEvent, error) {
	var files []*zippedEvent
	dir, left := "", uint64(most)
	for _, f := range z.File {
		in, name := path.Split(f.Name)
		m := eventName().FindStringSubmatch(name)
		if m == nil || path.Base(in) != eventsDir {
			continue // base_state.json and others
		}
		if dir != "" && in != dir {
			return nil, fault.New(fault.Invalid, "the zip file holds several conversations").Hint("import them one by one")
		}
		if f.UncompressedSize64 > min(left, maxFile) { // Go reads no more of it than it says
			return nil, fault.New(fault.Invalid, fmt.Sprintf("the zip file holds more than %d MB of events, or an event of more than %d MB", most>>20, maxFile>>20))
		}
		dir, left = in, left-f.UncompressedSize64
		index, err := strconv.Atoi(m[1])
		if err != nil {
			return nil, fault.Wrap(err, fault.Invalid, "event file "+name)
		}
		files = append(files, &zippedEvent{file: f, index: index})
	}
	if len(files) == 0 {
		return nil, fault.New(fault.Invalid, "the zip file holds no events").Hint("a download of a conversation has them in events/")
	}
	slices.SortStableFunc(files, func(a, b *zippedEvent) int { return cmp.Compare(a.index, b.index) })
	return files, nil
}

// zippedEvent reads one event, which is opened at the first Read.
type zippedEvent struct {
	file  *zip.File
	index int
	text  *bytes.Reader
}

// Read implements [io.Reader].
func (e *zippedEvent) Read(b []byte) (int, error) {
	if e.text == nil {
		raw, err := readZipped(e.file)
		if err == nil && !json.Valid(raw) { // it could end the array
			err = errors.New("it is not JSON")
		}
		if err != nil {
			return 0, fault.New(fault.Invalid, fmt.Sprintf("event %d cannot be read", e.index+1)).Because(err)
		}
		e.text = bytes.NewReader(raw)
	}
	n, err := e.text.Read(b)
	if errors.Is(err, io.EOF) {
		e.text.Reset(nil) // it was the last Read of it
	}
	return n, err
}

func readZipped(file *zip.File) (raw []byte, err error) {
	f, err := file.Open()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	b, err := io.ReadAll(f)
	return textfile.Decode(b), err
}
