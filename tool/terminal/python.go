package terminal

import (
	"os"
	"path/filepath"
)

// pythonFinder remembers the interpreter of the last prompt, as bash
// remembers where its commands are.
type pythonFinder struct{ path, cwd, found string }

// find returns the interpreter that `python3`, or else `python`, means in the
// shell, as `command -v` would; empty if there is none.
func (f *pythonFinder) find(path, cwd string) string {
	if f.path == path && f.cwd == cwd && f.found != "" && isProgram(f.found) {
		return f.found
	}
	*f = pythonFinder{path: path, cwd: cwd, found: lookPython(path, cwd)}
	return f.found
}

func lookPython(path, cwd string) string {
	const maxDirs = 64
	dirs := filepath.SplitList(path)
	for _, name := range []string{"python3", "python"} {
		for _, dir := range dirs[:min(len(dirs), maxDirs)] {
			if !filepath.IsAbs(dir) {
				dir = filepath.Join(cwd, dir)
			}
			if file := filepath.Join(dir, name); isProgram(file) {
				return file
			}
		}
	}
	return ""
}

func isProgram(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
