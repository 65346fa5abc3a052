package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/deft-dev/deft/fault"
)

// maxTask bounds a task, in bytes. It is far more than a model reads with
// care, and less than what would fill its context window at once.
const maxTask = 1 << 20

const noTask = `say what to do: deft run "fix the failing test"`

// task finds out what to do; empty means to go on with what there is.
func (c *runCmd) task(std *streams) (string, error) {
	goesOn := c.Resume != "" || c.Replay != ""
	switch {
	case len(c.Task) > 0 && c.File != "":
		return "", fault.New(fault.Invalid, "there are two tasks: an argument and --file").Hint("give one of them")
	case len(c.Task) > 0:
		return checkTask(strings.Join(c.Task, " "), "the task")
	case c.File != "":
		return readTask(c.File)
	case goesOn:
		return "", nil
	case std.inTTY:
		return "", fault.New(fault.Invalid, "there is no task").Hint(noTask)
	}
	b, err := io.ReadAll(io.LimitReader(std.in, maxTask+1))
	if err != nil {
		return "", fault.New(fault.Invalid, "there is no task, and standard input cannot be read").Because(err).Hint(noTask)
	}
	return checkTask(string(b), "the task from standard input")
}

func readTask(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fault.New(fault.Invalid, "the task file cannot be read").Because(err).Hint("check --file")
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxTask+1))
	if err != nil {
		return "", fault.New(fault.Invalid, "the task file cannot be read").Because(err).Hint("check --file")
	}
	return checkTask(string(b), "the task in "+path)
}

// checkTask refuses what no model could make sense of, rather than changing
// or cutting it in silence.
func checkTask(task, name string) (string, error) {
	switch {
	case len(task) > maxTask:
		return "", fault.New(fault.Invalid, fmt.Sprintf("%s is larger than %d KiB", name, maxTask>>10)).
			Hint("put the material in a file of the workspace and name the file in the task")
	case !utf8.ValidString(task) || strings.ContainsRune(task, 0):
		return "", fault.New(fault.Invalid, name+" is not text in UTF-8").
			Hint("put binary material in a file of the workspace and name the file in the task")
	case strings.TrimSpace(task) == "":
		return "", fault.New(fault.Invalid, name+" is empty").Hint(noTask)
	}
	return strings.TrimSpace(task), nil
}

// title is what lists call a conversation that begins with a task.
func title(task string) string {
	const most = 80
	line, _, _ := strings.Cut(strings.TrimSpace(task), "\n")
	if r := []rune(line); len(r) > most {
		line = string(r[:most-1]) + "…"
	}
	return line
}
