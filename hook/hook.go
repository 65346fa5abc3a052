// Package hook has hooks: commands, questions to a model and agents that run at the events of a
// conversation (docs/openhands/sdk-wire.md sections 5.4
// and 10, docs/openhands/sdk-features.md section 6). It
// chooses the hooks for an event and reads their results; a [Host] runs them.
//
// # Usage
//
//	config, err := hook.Parse(raw)         // hook_config of a start request
//	config, err := hook.Load(workspaceDir) // .openhands/hooks.json
//	r := hook.NewRunner(config, host, id, dir)
//	defer r.Close()
//	v, err := r.Run(ctx, hook.Event{Name: hook.PreToolUse, About: a.ID, Action: a})
//
// # Concurrency and failure
//
// Everything is safe for concurrent use. A configuration that is not valid is
// an error of kind fault.Invalid. A hook that fails is recorded in its HookExecutionEvent and
// refuses nothing; an error of Run means that hooks could not run at all.
//
// # Exactly once
//
// A hook has an id that follows from its event, so that a process which continues after a crash
// asks for the same program. A PreToolUse hook whose effect is not known refuses the call.
package hook

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/textfile"
	"github.com/deft-dev/deft/schema"
)

// The types of a [Hook].
const (
	Command = "command"
	Prompt  = "prompt"
	Agent   = "agent"
)

// Hook is one command or prompt.
type Hook struct {
	Type          string   `json:"type"`
	Name          *string  `json:"name"`
	Command       string   `json:"command"`
	Prompt        *string  `json:"prompt"`
	SystemPrompt  *string  `json:"system_prompt"`
	Tools         []string `json:"tools"`
	Timeout       int      `json:"timeout"` // seconds
	MaxIterations int      `json:"max_iterations"`
	Async         bool     `json:"async"`
}

// Matcher selects the tools for which hooks run: "*" or "" for all, a regular
// expression, or a name.
type Matcher struct {
	Matcher string `json:"matcher"`
	Hooks   []Hook `json:"hooks"`
}

// Config is the hooks of a conversation, by event.
type Config struct {
	PreToolUse       []Matcher `json:"pre_tool_use"`
	PostToolUse      []Matcher `json:"post_tool_use"`
	UserPromptSubmit []Matcher `json:"user_prompt_submit"`
	SessionStart     []Matcher `json:"session_start"`
	SessionEnd       []Matcher `json:"session_end"`
	Stop             []Matcher `json:"stop"`
}

// Empty reports whether there are no hooks.
func (c *Config) Empty() bool {
	return c == nil || len(c.PreToolUse)+len(c.PostToolUse)+len(c.UserPromptSubmit)+
		len(c.SessionStart)+len(c.SessionEnd)+len(c.Stop) == 0
}

// Parse reads a configuration in any form that [Schema] takes; nil for null.
func Parse(raw []byte) (*Config, error) {
	doc, err := schema.Parse(raw)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "read the hooks")
	}
	if doc == nil {
		return nil, nil
	}
	m, err := Schema.Check(doc, schema.Reading{}, "hook_config")
	if err != nil {
		return nil, err
	}
	c := &Config{}
	if err := schema.Into(m, c); err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "read the hooks")
	}
	return c, nil
}

// ProjectFile is the file in which a project names its hooks.
const ProjectFile = ".openhands/hooks.json"

// maxFile bounds a hooks.json, in bytes.
const maxFile = 1 << 20

// ReadFile reads a file of a project that names programs, such as [ProjectFile]; nil where there is none. The error
// is of kind Invalid if it is no regular file of at most one MiB.
func ReadFile(project fs.FS, name string) ([]byte, error) {
	info, err := fs.Stat(project, name)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", name, err)
	case !info.Mode().IsRegular() || info.Size() > maxFile:
		return nil, fault.New(fault.Invalid, fmt.Sprintf("%s is not a regular file of at most %d bytes", name, maxFile))
	}
	f, err := project.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return textfile.Decode(raw), nil
}

// LoadUser reads hooks.json of a user's directory of settings; nil where there is none. The error
// is of kind Invalid if it cannot be used: hooks keep policies.
func LoadUser(dir string) (*Config, error) {
	file := filepath.Join(dir, "hooks.json")
	raw, err := textfile.Read(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && len(raw) > maxFile {
		err = fmt.Errorf("it is larger than %d bytes", maxFile)
	}
	var c *Config
	if err == nil {
		c, err = Parse(raw)
	}
	return c, fault.Wrap(schema.Located(err), fault.Invalid, "the hooks of "+file)
}

// Load reads [ProjectFile] of a directory; nil where there is none or it has no hooks. A link
// that leads out of the project is an error.
func Load(project string) (*Config, error) {
	root, err := os.OpenRoot(project)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open the project: %w", err)
	}
	defer root.Close()
	raw, err := ReadFile(root.FS(), ProjectFile)
	if raw == nil || err != nil {
		return nil, err
	}
	c, err := Parse(raw)
	if err != nil || c.Empty() {
		return nil, err
	}
	return c, nil
}
