package runcommand

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

// NoTask tells users how to give a task.
const NoTask = `say what to do: deft run "fix the failing test"`

// TaskSource says where the task is.
type TaskSource struct {
	Words    []string  // arguments of the command
	File     string    // path of a file; empty for none
	Input    io.Reader // read where neither is given; nil for not
	Optional bool      // there may be none: what there is goes on
}

// Read returns the task; "" for none, if that may be. The error is of kind
// Invalid.
func (t TaskSource) Read() (string, error) {
	switch {
	case len(t.Words) > 0 && t.File != "":
		return "", fault.New(fault.Invalid, "there are two tasks: an argument and --file").Hint("give one of them")
	case len(t.Words) > 0:
		return checkTask(strings.Join(t.Words, " "), "the task")
	case t.File != "":
		return readTask(t.File)
	case t.Optional:
		return "", nil
	case t.Input == nil:
		return "", fault.New(fault.Invalid, "there is no task").Hint(NoTask)
	}
	b, err := io.ReadAll(io.LimitReader(t.Input, maxTask+1))
	if err != nil {
		return "", fault.New(fault.Invalid, "there is no task, and standard input cannot be read").Because(err).Hint(NoTask)
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
		return "", fault.New(fault.Invalid, name+" is empty").Hint(NoTask)
	}
	return strings.TrimSpace(task), nil
}

// Title is what lists call a conversation that begins with a task.
func Title(task string) string {
	const most = 80
	line, _, _ := strings.Cut(strings.TrimSpace(task), "\n")
	if r := []rune(line); len(r) > most {
		line = string(r[:most-1]) + "…"
	}
	return line
}
