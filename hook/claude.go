package hook

import (
	"encoding/json"
	"fmt"
	"io/fs"
)

// claudeFiles are the files in which a project names hooks for Claude Code. They do not run here: they are written for
// other tools, which get other arguments.
var claudeFiles = []string{".claude/settings.json", ".claude/settings.local.json"}

// claudeTools are the names of Claude Code's tools, as matchers have them, with the tools that do the same here.
var claudeTools = [][2]string{
	{"Bash", "terminal"}, {"Edit", "file_editor"}, {"MultiEdit", "file_editor"}, {"Write", "file_editor"}, {"Read", "file_editor"},
	{"Glob", "glob"}, {"Grep", "grep"}, {"Task", "task"}, {"TodoWrite", "task_tracker"},
}

// NotRun returns the file of a project that names hooks for Claude Code, and why they do not run; "" for none.
func NotRun(project fs.FS) (file, why string) {
	for _, name := range claudeFiles {
		raw, err := ReadFile(project, name)
		var settings struct {
			Hooks map[string]json.RawMessage `json:"hooks"`
		}
		if err != nil || json.Unmarshal(raw, &settings) != nil || len(settings.Hooks) == 0 {
			continue // Claude Code names its mistakes
		}
		return name, "its hooks are written for Claude Code's tools and do not run; hooks for these tools are in " + ProjectFile
	}
	return "", ""
}

// claudeNames says which names of Claude Code's tools a matcher has, and how the same tools are called here.
func (m Matcher) claudeNames() (lines []string) {
	for _, names := range claudeTools {
		if m.matches(names[0]) && !m.matches(names[1]) {
			lines = append(lines, fmt.Sprintf("the matcher %q names Claude Code's %s, which is %s here", m.Matcher, names[0], names[1]))
		}
	}
	return lines
}
