package v0event

import (
	"fmt"

	"github.com/deft-dev/deft/event"
)

// Observation is the result of an action as an action server answers it: without the
// members that a conversation adds (id, time, source, cause).
type Observation struct {
	Message string         `json:"message"`
	Name    string         `json:"observation"`
	Content string         `json:"content"`
	Extras  map[string]any `json:"extras"`
	Success *bool          `json:"success,omitempty"`
}

// Ran is the result of a command.
func Ran(command string, hidden bool, content string, m event.TerminalMetadata) Observation {
	success := m.ExitCode == 0
	return Observation{
		Message: fmt.Sprintf("Command `%s` executed with exit code %d.", command, m.ExitCode), Name: "run", Content: content, Success: &success,
		Extras: map[string]any{
			"command": command, "hidden": hidden,
			"metadata": map[string]any{
				"exit_code": m.ExitCode, "pid": m.PID, "username": m.Username, "hostname": m.Hostname,
				"working_dir": m.WorkingDir, "py_interpreter_path": m.PyInterpreterPath, "prefix": m.Prefix, "suffix": m.Suffix,
			},
		},
	}
}

// Celled is the output of an IPython cell, with its images.
func Celled(code, content string, images []string) Observation {
	return Observation{
		Message: "Code executed in IPython cell.", Name: "run_ipython", Content: content,
		Extras: map[string]any{"code": code, "image_urls": images},
	}
}

// Read is the content of a file; source is the implementation that read it: default or
// oh_aci.
func Read(path, source, content string) Observation {
	return Observation{
		Message: "I read the file " + path + ".", Name: "read", Content: content,
		Extras: map[string]any{"path": path, "impl_source": source},
	}
}

// Wrote is the result of writing a file.
func Wrote(path, content string) Observation {
	return Observation{Message: "I wrote to the file " + path + ".", Name: "write", Content: content, Extras: map[string]any{"path": path}}
}

// Edited is the result of an edit; was and is are the versions of the text, nil for none.
func Edited(path string, existed bool, was, is *string, content, diff string) Observation {
	return Observation{
		Message: "I edited the file " + path + ".", Name: "edit", Content: content,
		Extras: map[string]any{
			"path": path, "prev_exist": existed, "old_content": was, "new_content": is, "impl_source": "oh_aci",
			"diff": diff, "_diff_cache": nil,
		},
	}
}

// Failed is the result of an action that failed.
func Failed(content, id string) Observation {
	return Observation{Message: content, Name: "error", Content: content, Extras: map[string]any{"error_id": id}}
}

// event is the observation in a conversation.
func (o Observation) event() *Event {
	out := observation(o.Name, o.Message, o.Content, o.Extras)
	out.Success = o.Success
	return out
}
