package v0

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/deft-dev/deft/skill"
	"github.com/deft-dev/deft/workspace"
)

// ignoreRules are the lines of a .gitignore.
type ignoreRules []string

// maxRules bounds how many of them count: a repository's file is hostile.
const maxRules = 1000

// readIgnore reads the .gitignore of the workspace. One that cannot be read as a file
// ignores nothing.
func readIgnore(ctx context.Context, files workspace.Files) (rules ignoreRules, err error) {
	raw, err := readAll(ctx, files, path.Join(files.Path(), ".gitignore"))
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, workspace.ErrNotFile), errors.Is(err, workspace.ErrOutside):
		return nil, nil
	case err != nil:
		return nil, err
	}
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimRight(line, " \t\r\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if rules = append(rules, line); len(rules) == maxRules {
			break
		}
	}
	return rules, nil
}

// ignores reports whether the rules ignore a path, which is relative to the workspace, or
// a directory above it. The last rule that matches counts.
func (i ignoreRules) ignores(name string, dir bool) bool {
	if up := path.Dir(name); up != "." && up != "/" && i.ignores(up, true) {
		return true
	}
	out := false
	for _, rule := range i {
		pattern, again := strings.CutPrefix(rule, "!")
		pattern, onlyDir := strings.CutSuffix(pattern, "/")
		if onlyDir && !dir {
			continue
		}
		full := name
		if strings.HasPrefix(pattern, "/") { // only at the top
			pattern, full = pattern[1:], "/"+name
			if !strings.Contains(pattern, "/") {
				pattern = "/" + pattern
			} else {
				full = name
			}
		}
		if skill.Glob(pattern, full) {
			out = !again
		}
	}
	return out
}
