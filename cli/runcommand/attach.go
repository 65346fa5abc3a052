package runcommand

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/textfile"
)

// Bounds of attached pictures, in bytes: of one, and of all of a message. They
// are stored with it.
const (
	maxPicture  = 10 << 20
	maxPictures = 30 << 20
)

// pictureTypes are the pictures that providers take.
var pictureTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// attach adds files: pictures as such, text in a section of the message.
func (t Task) attach(paths []string) (Task, error) {
	pictures := 0
	for _, path := range paths {
		b, err := readAttachment(path)
		if err != nil {
			return Task{}, err
		}
		if kind := http.DetectContentType(b); slices.Contains(pictureTypes, kind) {
			if pictures += len(b); pictures > maxPictures {
				return Task{}, fault.New(fault.Invalid, fmt.Sprintf("the attached pictures are larger than %d MiB together", maxPictures>>20)).
					Hint("attach fewer or smaller pictures")
			}
			url := "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(b)
			t.Pictures = append(t.Pictures, event.Content{Type: event.TypeImage, ImageURLs: []string{url}})
			continue
		}
		if text, ok := textfile.Prose(b); ok {
			b = []byte(text)
		}
		if !isText(b) {
			return Task{}, fault.New(fault.Invalid, path+" is neither a picture (PNG, JPEG, GIF, WebP) nor text in UTF-8").
				Hint("put it in the workspace and name it in the task")
		}
		if err := checkText(b, path); err != nil {
			return Task{}, err
		}
		t.Text += fenced("Attached file "+filepath.Base(path)+":", string(b))
		if len(t.Text) > 4*maxTask {
			return Task{}, fault.New(fault.Invalid, fmt.Sprintf("the task with its attached files is larger than %d MiB", 4*maxTask>>20)).
				Hint("put the material in files of the workspace and name the files in the task")
		}
	}
	return t, nil
}

func readAttachment(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fault.New(fault.Invalid, "the attachment cannot be read").Because(err).Hint("check --attach")
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && !info.Mode().IsRegular() {
		return nil, fault.New(fault.Invalid, "the attachment "+path+" is not a regular file").Hint("check --attach")
	}
	b, err := io.ReadAll(io.LimitReader(f, maxPicture+1))
	if err != nil {
		return nil, fault.New(fault.Invalid, "the attachment cannot be read").Because(err).Hint("check --attach")
	}
	if len(b) > maxPicture {
		return nil, fault.New(fault.Invalid, fmt.Sprintf("the attachment %s is larger than %d MiB", path, maxPicture>>20)).
			Hint("put it in the workspace and name it in the task")
	}
	return b, nil
}
