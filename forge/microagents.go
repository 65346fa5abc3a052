package forge

import (
	"context"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/skill"
)

// Microagent is a file of a repository with text for agents.
type Microagent struct {
	Name, Path string
}

// cursorRules is a file that is one by its name
// (docs/openhands/app-server-v0.md section 4.2).
const cursorRules = ".cursorrules"

// microagentDirs are where a repository has its microagents. In the repository of an
// organisation for agents they are at the top.
func microagentDirs(repository string) []string {
	switch path.Base(repository) {
	case ".openhands", "openhands-config":
		return []string{"microagents", "skills"}
	}
	return []string{".openhands/microagents", ".openhands/skills"}
}

// Microagents lists a repository's microagents, none if it has none. A repository that
// does not exist is NotFound.
func Microagents(ctx context.Context, h Host, repository string) ([]Microagent, error) {
	r, err := h.Repository(ctx, repository)
	if err != nil {
		return nil, err
	}
	out := []Microagent{}
	if r.MainBranch == "" {
		return out, nil
	}
	top, err := h.Files(ctx, repository, "")
	if err != nil && !fault.Is(err, fault.NotFound) {
		return nil, err
	}
	if slices.Contains(top, cursorRules) {
		out = append(out, Microagent{Name: "cursorrules", Path: cursorRules})
	}
	for _, dir := range microagentDirs(repository) {
		files, err := h.Files(ctx, repository, dir)
		if fault.Is(err, fault.NotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			name, ok := strings.CutSuffix(path.Base(f), ".md")
			if ok && !strings.EqualFold(name, "readme") {
				out = append(out, Microagent{Name: name, Path: f})
			}
		}
	}
	return out, nil
}

// MicroagentText returns a microagent's text without its front matter, and its triggers. A
// file whose front matter cannot be read is shown whole. Only files that [Microagents] may
// list are read.
func MicroagentText(ctx context.Context, h Host, repository, file string) (text string, triggers []string, err error) {
	listed := file == cursorRules || slices.ContainsFunc(microagentDirs(repository), func(dir string) bool {
		return path.Dir(file) == dir && strings.HasSuffix(file, ".md")
	})
	if !listed || !fs.ValidPath(file) {
		return "", nil, fault.New(fault.NotFound, "the repository has no microagent "+file)
	}
	raw, err := h.File(ctx, repository, file)
	if err != nil {
		return "", nil, err
	}
	fields, text, err := skill.FrontMatter(raw)
	if err != nil {
		return raw, nil, nil //nolint:nilerr // the user sees the file as it is
	}
	list, _ := fields["triggers"].([]any)
	for _, one := range list {
		if word, ok := one.(string); ok {
			triggers = append(triggers, word)
		}
	}
	return text, triggers, nil
}
