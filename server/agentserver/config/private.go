package config

import (
	"path/filepath"
	"slices"
)

// Data are the absolute paths of the server's own directories, in which no
// conversation may work: conversations, settings and secrets, saved workspaces,
// clients' commands.
func (l *Loaded) Data() []string {
	return absolute(l.ConversationsPath, filepath.Join(l.ConversationsPath, "..", ".openhands"), l.PersistenceDir, l.BashEventsDir)
}

// Private are the absolute paths that no sandbox shows: [Loaded.Data], the files
// with settings and keys, files served to browsers, and the directories below which
// conversations have their workspaces and worktrees. A sandbox shows the workspace
// of its own conversation there.
func (l *Loaded) Private() []string {
	paths := append([]string{l.WorkspacePath, l.ConversationWorktreeRoot}, l.files...)
	if l.StaticFilesPath != nil {
		paths = append(paths, *l.StaticFilesPath)
	}
	return append(l.Data(), absolute(paths...)...)
}

// absolute makes the paths that are not empty absolute.
func absolute(paths ...string) []string {
	out := slices.DeleteFunc(paths, func(p string) bool { return p == "" })
	for i, p := range out {
		if abs, err := filepath.Abs(p); err == nil { // else there is no working directory
			out[i] = abs
		}
	}
	return out
}
