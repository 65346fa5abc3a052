package confirmation

import (
	"slices"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/deft-dev/deft/tool"
)

// kindOf names the kind of an action. exactly says that it is this one command or cell alone: its
// program runs whatever it is told, or the shell does more than to start one program.
func kindOf(a *event.ActionEvent, q Question) (kind string, exactly bool) {
	switch act := a.Action.(type) {
	case tool.Asking: // each one is asked about
		return "", false
	case *event.TerminalAction:
		if begin := commandKind(act); begin != "" {
			return "commands that begin with \"" + begin + "\"", false
		}
		return "exactly this", true
	case event.Runner:
		return "exactly this", true
	case *event.MCPToolAction:
		return "the tool " + a.ToolName, false
	}
	switch q.Title {
	case "Create a file", "Write a file":
		return "new files", false
	case "Edit a file", "Undo the last edit of a file", "Apply a patch":
		return "edits of files", false
	case "Read a file":
		return "reading files", false
	}
	return "the tool " + a.ToolName, false
}

// plainCommand is a command of plain words and quoted text that no shell expands. programName
// is a program, commandWord its first argument if that is a subcommand, as in "npm test".
var (
	plainCommand = lazyregexp.New(`^[\w./:@%+,= -]*(?:'[^'\n]*'[\w./:@%+,= -]*)*$`)
	programName  = lazyregexp.New(`^[a-z][a-z0-9._+-]*$`)
	commandWord  = lazyregexp.New(`^[a-z][a-z:-]*$`)
)

// runners are programs that run what their arguments say, or as somebody else.
var runners = []string{
	"ash", "awk", "bash", "bun", "busybox", "chroot", "dash", "deno", "docker", "doas", "env", "eval", "exec", "find", "ksh", "kubectl", "lua", "nice",
	"node", "nohup", "nsenter", "osascript", "parallel", "perl", "php", "pkexec", "podman", "pwsh", "python", "python2", "python3", "ruby", "screen",
	"setsid", "sh", "source", "ssh", "su", "sudo", "time", "timeout", "tmux", "unshare", "watch", "xargs", "zsh",
}

// commandKind returns the words that commands of the same kind begin with, "" if there are none.
func commandKind(a *event.TerminalAction) string {
	command := strings.TrimSpace(a.Command)
	words := strings.Fields(command)
	if a.IsInput || a.Reset || len(words) == 0 || !plainCommand().MatchString(command) || !programName().MatchString(words[0]) || slices.Contains(runners, words[0]) {
		return ""
	}
	if len(words) > 1 && commandWord().MatchString(words[1]) {
		return words[0] + " " + words[1]
	}
	return words[0]
}
