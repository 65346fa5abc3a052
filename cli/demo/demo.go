// Package demo holds a small repository with a failing test, and a recorded
// session that fixes it, which `deft demo` replays with real tools.
//
// It is safe for concurrent use. It fails only if the directory cannot be written, or has a
// name that would need escaping in the recording.
package demo

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream/openhands"
	"github.com/deft-dev/deft/fault"
)

// Task is the user's message in the recorded session.
const Task = "sh test.sh fails. Find out why and fix it."

// recordedIn is where the workspace was when the session was recorded; the
// recording names it in place of the directory that it is replayed in.
const recordedIn = "/demo/workspace"

//go:embed repo
var repo embed.FS

//go:embed trajectory.json
var trajectory []byte

// Session writes the repository into dir, which must exist, and returns the recorded session
// as it would be there.
func Session(dir string) ([]event.Event, error) {
	if err := unpack(dir); err != nil {
		return nil, fault.Wrap(err, fault.Denied, "unpack the demo")
	}
	if strings.ContainsAny(dir, "\"\\\n") {
		return nil, fault.New(fault.Invalid, fmt.Sprintf("the directory %q cannot stand in a recording", dir)).Hint("choose a directory with a plain name")
	}
	return openhands.ReadTrajectory(bytes.NewReader(bytes.ReplaceAll(trajectory, []byte(recordedIn), []byte(dir))))
}

// unpack writes the repository into dir, which must exist.
func unpack(dir string) error {
	return fs.WalkDir(repo, "repo", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := repo.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, filepath.Base(path)), b, 0o644)
	})
}
