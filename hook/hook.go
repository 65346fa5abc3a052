// Package hook reads hooks: commands and prompts that a user or a project wants
// at certain moments of a conversation (docs/openhands/sdk-wire.md sections 5.4
// and 10). It does not run them.
//
// # Usage
//
//	config, err := hook.Parse(raw)         // hook_config of a start request
//	config, err := hook.Load(workspaceDir) // .openhands/hooks.json
//
// # Concurrency and failure
//
// Everything is safe for concurrent use. A configuration that is not valid is
// an error of kind fault.Invalid.
package hook

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

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

// maxFile bounds a hooks.json, in bytes.
const maxFile = 1 << 20

// Load reads .openhands/hooks.json of a project; nil where there is none or it
// has no hooks. A link that leads out of the project is an error.
func Load(project string) (*Config, error) {
	root, err := os.OpenRoot(project)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open the project: %w", err)
	}
	defer root.Close()
	const name = ".openhands/hooks.json"
	info, err := root.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the hooks: %w", err)
	case !info.Mode().IsRegular() || info.Size() > maxFile:
		return nil, fault.New(fault.Invalid, fmt.Sprintf("%s is not a regular file of at most %d bytes", name, maxFile))
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read the hooks: %w", err)
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil, fmt.Errorf("read the hooks: %w", err)
	}
	c, err := Parse(textfile.Decode(raw))
	if err != nil || c.Empty() {
		return nil, err
	}
	return c, nil
}
