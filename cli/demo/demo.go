// Package demo holds a small repository with a failing test, and a recorded
// session that fixes it, which `deft demo` replays with real tools.
//
// Values are immutable and safe for concurrent use. Unpack fails only if the
// directory cannot be written.
package demo

import (
	"bytes"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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

// Trajectory returns the recorded session as it would be in dir.
func Trajectory(dir string) (io.Reader, error) {
	if strings.ContainsAny(dir, "\"\\\n") {
		return nil, fmt.Errorf("the directory %q cannot stand in a recording", dir)
	}
	return bytes.NewReader(bytes.ReplaceAll(trajectory, []byte(recordedIn), []byte(dir))), nil
}

// Unpack writes the repository into dir, which must exist.
func Unpack(dir string) error {
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
