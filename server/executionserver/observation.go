package executionserver

import (
	"fmt"
	"strings"

	"github.com/deft-dev/deft/event"
)

// maxOutput is how many characters of output an observation has, unless its command
// was hidden.
const maxOutput = 30_000

// observation is one of the reference's first generation. It is encoded with the
// keys in the reference's order.
type observation struct {
	Message     string `json:"message"`
	Observation string `json:"observation"`
	Content     string `json:"content"`
	Extras      any    `json:"extras"`
	Success     *bool  `json:"success,omitempty"`
}

func failed(format string, args ...any) observation {
	text := fmt.Sprintf(format, args...)
	return observation{Message: text, Observation: "error", Content: text, Extras: map[string]string{"error_id": ""}}
}

type readExtras struct {
	Path       string `json:"path"`
	ImplSource string `json:"impl_source"`
}

func readFrom(path, source, content string) observation {
	return observation{Message: "I read the file " + path + ".", Observation: "read", Content: content, Extras: readExtras{path, source}}
}

func wroteTo(path string) observation {
	return observation{Message: "I wrote to the file " + path + ".", Observation: "write", Extras: map[string]string{"path": path}}
}

type editExtras struct {
	Path       string  `json:"path"`
	PrevExist  bool    `json:"prev_exist"`
	OldContent *string `json:"old_content"` // the reference's old_str, not the file
	NewContent *string `json:"new_content"`
	ImplSource string  `json:"impl_source"`
	Diff       string  `json:"diff"`
	DiffCache  *string `json:"_diff_cache"`
}

func edited(a arguments, content, diff string) observation {
	return observation{
		Message: "I edited the file " + *a.Path + ".", Observation: "edit", Content: content,
		Extras: editExtras{Path: *a.Path, OldContent: a.OldStr, NewContent: a.NewStr, ImplSource: "oh_aci", Diff: diff},
	}
}

type runExtras struct {
	Command  string   `json:"command"`
	Metadata metadata `json:"metadata"`
	Hidden   bool     `json:"hidden"`
}

// metadata is [event.TerminalMetadata] with null for missing values.
type metadata struct {
	ExitCode          int     `json:"exit_code"`
	PID               int     `json:"pid"`
	Username          *string `json:"username"`
	Hostname          *string `json:"hostname"`
	WorkingDir        *string `json:"working_dir"`
	PyInterpreterPath *string `json:"py_interpreter_path"`
	Prefix            string  `json:"prefix"`
	Suffix            string  `json:"suffix"`
}

// ran makes the observation of a command.
func ran(a arguments, o *event.TerminalObservation) observation {
	content := event.JoinText(o.Content)
	if !a.Hidden {
		content = shorten(content)
	}
	success := o.Metadata.ExitCode == 0
	return observation{
		Message:     fmt.Sprintf("Command `%s` executed with exit code %d.", *a.Command, o.Metadata.ExitCode),
		Observation: "run", Content: content, Success: &success,
		Extras: runExtras{Command: *a.Command, Metadata: metadata(o.Metadata), Hidden: a.Hidden},
	}
}

// shorten leaves out the middle of long output, as the reference does.
func shorten(s string) string {
	if len(s) <= maxOutput {
		return s
	}
	r := []rune(s)
	if len(r) <= maxOutput {
		return s
	}
	return strings.Join([]string{string(r[:maxOutput/2]), string(r[len(r)-maxOutput/2:])}, "\n[... Observation truncated due to length ...]\n")
}
