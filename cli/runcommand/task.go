package runcommand

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/textfile"
)

// maxTask bounds a task, what is kept of standard input, and each attached text file, in bytes. It
// is far more than a model reads with care, and less than its context window.
const maxTask = 1 << 20

// NoTask tells users how to give a task.
const NoTask = `say what to do: deft run "fix the failing test"`

// TaskSource says where the task is.
type TaskSource struct {
	Words []string // arguments of the command
	File  string   // path of a file; empty for none
	Input io.Reader
	// Piped says that Input comes from another program or from a file: then it is
	// part of a task that is given otherwise. Without such a task it is the task.
	Piped bool
	// Tell shows the user a line about the input; nil for nobody.
	Tell     func(string)
	Attach   []string // paths of pictures and text files
	Optional bool     // there may be no task: the conversation continues as it is
}

// Task is the user's request. The zero value is no task.
type Task struct {
	Text     string
	Pictures []event.Content
}

// Content returns the task as the content of a message.
func (t Task) Content() []event.Content { return append(event.Texts(t.Text), t.Pictures...) }

// Read returns the task; the zero value for none, if that is allowed. The error
// is of kind Invalid.
func (t TaskSource) Read() (Task, error) {
	task, err := t.text()
	if err != nil {
		return Task{}, err
	}
	if task.Text == "" && len(t.Attach) > 0 {
		return Task{}, fault.New(fault.Invalid, "--attach needs a task").Hint(NoTask)
	}
	return task.attach(t.Attach)
}

// text reads the task without attachments.
func (t TaskSource) text() (task Task, err error) {
	switch {
	case len(t.Words) > 0 && t.File != "":
		return task, fault.New(fault.Invalid, "there are two tasks: an argument and --file").Hint("give one of them")
	case len(t.Words) > 0:
		task.Text, err = checkTask(strings.Join(t.Words, " "), "the task")
	case t.File != "":
		task.Text, err = readTask(t.File)
	case t.Optional:
		return task, nil
	case t.Input == nil:
		return task, fault.New(fault.Invalid, "there is no task").Hint(NoTask)
	default:
		return t.fromInput()
	}
	if err != nil || !t.Piped || t.Input == nil {
		return task, err
	}
	return t.addPiped(task)
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

func checkTask(task, name string) (string, error) {
	if text, ok := textfile.Prose([]byte(task)); ok {
		task = text
	}
	if err := checkText([]byte(task), name); err != nil {
		return "", err
	}
	if strings.TrimSpace(task) == "" {
		return "", fault.New(fault.Invalid, name+" is empty").Hint(NoTask)
	}
	return strings.TrimSpace(task), nil
}

// checkText refuses text that no model could make sense of, rather than changing
// or cutting it in silence.
func checkText(b []byte, name string) error {
	switch {
	case len(b) > maxTask:
		return fault.New(fault.Invalid, fmt.Sprintf("%s is larger than %d KiB", name, maxTask>>10)).
			Hint("put the material in a file of the workspace and name the file in the task")
	case !isText(b):
		return fault.New(fault.Invalid, name+" is not text in UTF-8").
			Hint("put binary material in a file of the workspace and name the file in the task")
	}
	return nil
}

func isText(b []byte) bool { return utf8.Valid(b) && !strings.ContainsRune(string(b), 0) }

// fenced is a section of a message: a heading, and text between marks that do not
// occur in it.
func fenced(heading, text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return "\n\n" + heading + "\n" + fence + "\n" + strings.TrimRight(text, "\n") + "\n" + fence
}

// Title is the name in lists of a conversation that begins with a task.
func Title(task string) string {
	const most = 80
	line, _, _ := strings.Cut(strings.TrimSpace(task), "\n")
	if r := []rune(line); len(r) > most {
		line = string(r[:most-1]) + "…"
	}
	return line
}
