package session

import (
	"slices"
	"strings"

	"github.com/deft-dev/deft/event"
)

// readsOnly reports whether an action is sure to change no file.
func readsOnly(a *event.ActionEvent) bool {
	switch act := a.Action.(type) {
	case *event.FileEditorAction:
		return act.Command == event.EditView
	case *event.PlanningFileEditorAction:
		return act.Command == event.EditView
	case *event.ReadFileAction, *event.ListDirectoryAction, *event.GlobAction, *event.GrepAction, *event.ThinkAction, *event.TaskTrackerAction, *event.FinishAction:
		return true
	case *event.TerminalAction:
		return !act.IsInput && readingCommand(act.Command)
	}
	return false
}

// readers are programs that change no file, whatever their arguments are, except the arguments of
// writingFlags.
var readers = []string{
	"[", "basename", "cat", "cd", "cmp", "cut", "date", "df", "diff", "dirname", "du", "echo", "egrep", "false", "fgrep", "find", "grep", "head", "id",
	"ls", "nl", "printf", "pwd", "readlink", "realpath", "rg", "sha256sum", "stat", "tail", "test", "tr", "true", "type", "uname", "wc", "which", "whoami",
}

// gitReaders are commands of git that change no file of a workspace.
var gitReaders = []string{"blame", "describe", "diff", "log", "ls-files", "rev-parse", "show", "status"}

// writingFlags are parts of arguments by which a reader writes or runs another program.
var writingFlags = []string{"-delete", "-exec", "-ok", "-fprint", "-fls", "--pre", "--output", "--ext-diff", "--textconv"}

// readingCommand reports whether a command starts readers alone, and the shell does nothing but
// to start them.
func readingCommand(command string) bool {
	if strings.TrimSpace(command) == "" || strings.ContainsAny(command, "<>$`(){}!\\\"'=") {
		return false
	}
	command = strings.NewReplacer("&&", "\n", "||", "\n", "|", "\n", ";", "\n").Replace(command)
	if strings.Contains(command, "&") {
		return false
	}
	for part := range strings.SplitSeq(command, "\n") {
		words := strings.Fields(part)
		if len(words) == 0 {
			continue
		}
		known := slices.Contains(readers, words[0]) || words[0] == "git" && len(words) > 1 && slices.Contains(gitReaders, words[1])
		writes := slices.ContainsFunc(words, func(w string) bool {
			return slices.ContainsFunc(writingFlags, func(f string) bool { return strings.HasPrefix(w, f) })
		})
		if !known || writes {
			return false
		}
	}
	return true
}
