// Package hooks is the room of the Agent Server that reads the hooks of a
// project (sdk-wire.md sections 5.4 and 10). Running them is not its work.
//
// # Usage
//
//	routes := hooks.Routes(log)
//	config, err := hooks.Parse(raw) // hook_config of a new conversation
//
// # Concurrency and failure
//
// Everything is safe for concurrent use. A hooks.json that is absent, empty or
// wrong counts as none, as in the reference; why is logged.
package hooks

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/agentserver/rest"
)

// The types of a [Hook].
const (
	Command = "command"
	Prompt  = "prompt"
	Agent   = "agent"
)

// Hook is one thing to run.
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

// Matcher says for which tools hooks run: "*" or "" for all, a regular
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

// UnmarshalJSON reads a hook with its defaults and checks it.
func (h *Hook) UnmarshalJSON(b []byte) error {
	type plain Hook
	given := struct {
		*plain
		AsyncToo *bool `json:"async_"`
	}{plain: &plain{Type: Command, Timeout: 60, MaxIterations: 3}}
	if err := json.Unmarshal(b, &given); err != nil {
		return fault.Wrap(err, fault.Invalid, "hook")
	}
	*h = Hook(*given.plain)
	if given.AsyncToo != nil {
		h.Async = *given.AsyncToo
	}
	if h.Tools == nil {
		h.Tools = []string{}
	}
	return h.check()
}

func (h *Hook) check() error {
	bad := func(why string) error { return fault.New(fault.Invalid, why) }
	switch {
	case h.Type != Command && h.Type != Prompt && h.Type != Agent:
		return bad("type must be 'command', 'prompt' or 'agent'")
	case h.Type == Command && h.Command == "":
		return bad("'command' is required when type is 'command'")
	case h.Type == Prompt && (h.Prompt == nil || *h.Prompt == ""):
		return bad("'prompt' is required when type is 'prompt'")
	case h.Type != Command && h.Command != "":
		return bad("'command' must not be set when type is '" + h.Type + "'")
	case h.Type != Command && h.Async:
		return bad("'async' is not supported for " + h.Type + " hooks")
	}
	return nil
}

// UnmarshalJSON reads a matcher; it is for all tools unless it says otherwise.
func (m *Matcher) UnmarshalJSON(b []byte) error {
	type plain Matcher
	p := plain{Matcher: "*", Hooks: []Hook{}}
	if err := json.Unmarshal(b, &p); err != nil {
		if fault.Is(err, fault.Invalid) {
			return err
		}
		return fault.Wrap(err, fault.Invalid, "matcher")
	}
	if p.Hooks == nil {
		return fault.New(fault.Invalid, "hooks must be a list")
	}
	*m = Matcher(p)
	return nil
}

// events returns the lists by their names on the wire.
func (c *Config) events() map[string]*[]Matcher {
	return map[string]*[]Matcher{
		"pre_tool_use": &c.PreToolUse, "post_tool_use": &c.PostToolUse,
		"user_prompt_submit": &c.UserPromptSubmit, "session_start": &c.SessionStart,
		"session_end": &c.SessionEnd, "stop": &c.Stop,
	}
}

// UnmarshalJSON reads the forms that are in use: events in snake_case or as
// PreToolUse, bare or below the key "hooks". Anything else is an error of kind
// fault.Invalid.
func (c *Config) UnmarshalJSON(b []byte) error {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(b, &given); err != nil {
		return fault.Wrap(err, fault.Invalid, "hooks are not an object")
	}
	if inner, wrapped := given["hooks"]; wrapped {
		given = nil
		if err := json.Unmarshal(inner, &given); err != nil {
			return fault.Wrap(err, fault.Invalid, "hooks are not an object")
		}
	}
	*c = Config{}
	lists := c.events()
	for _, list := range lists {
		*list = []Matcher{}
	}
	seen := map[string]bool{}
	for name, raw := range given {
		event := snake(name)
		list := lists[event]
		switch {
		case list == nil:
			return fault.New(fault.Invalid, fmt.Sprintf("there is no hook event %q", name))
		case seen[event]:
			return fault.New(fault.Invalid, "the hook event "+event+" is given twice")
		}
		seen[event] = true
		if err := json.Unmarshal(raw, list); err != nil {
			return fmt.Errorf("hooks of %s: %w", event, err)
		}
		if *list == nil {
			return fault.New(fault.Invalid, "the hooks of "+event+" must be a list")
		}
	}
	return nil
}

// snake turns PreToolUse into pre_tool_use.
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if r >= 'A' && r <= 'Z' {
			if i > 0 {
				b.WriteByte('_')
			}
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Empty reports whether there is nothing to run.
func (c *Config) Empty() bool {
	for _, list := range c.events() {
		if len(*list) > 0 {
			return false
		}
	}
	return true
}

// Parse reads a configuration; null is none. Errors are of kind fault.Invalid.
func Parse(raw json.RawMessage) (*Config, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var c Config
	if err := json.Unmarshal(raw, &c); err != nil {
		if fault.Is(err, fault.Invalid) {
			return nil, err
		}
		return nil, fault.Wrap(err, fault.Invalid, "hook_config")
	}
	return &c, nil
}

// Merge returns the hooks of all configurations in order, or nil for none.
func Merge(configs ...*Config) *Config {
	var all Config
	lists := all.events()
	for _, c := range configs {
		if c == nil {
			continue
		}
		for event, list := range c.events() {
			*lists[event] = append(*lists[event], *list...)
		}
	}
	if all.Empty() {
		return nil
	}
	for _, list := range lists {
		if *list == nil {
			*list = []Matcher{}
		}
	}
	return &all
}

// maxFile bounds a hooks.json, in bytes.
const maxFile = 1 << 20

// Load reads .openhands/hooks.json of a project; nil when there is none, or
// nothing in it. A link that leads out of the project is an error.
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
		return nil, fault.New(fault.Invalid, name+" is not a file of a sensible size")
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
	c, err := Parse(raw)
	if err != nil || c == nil || c.Empty() {
		return nil, err
	}
	return c, nil
}

// Routes returns the operations of the room.
func Routes(log *slog.Logger) []rest.Route {
	return []rest.Route{{Method: "POST", Path: "/api/hooks", Tag: "Hooks", Handle: func(w http.ResponseWriter, r *http.Request) error {
		var body struct {
			ProjectDir *string `json:"project_dir"`
		}
		if err := rest.Body(r, &body); err != nil {
			return err
		}
		answer := struct {
			Config *Config `json:"hook_config"`
		}{}
		if body.ProjectDir != nil && *body.ProjectDir != "" {
			var err error
			if answer.Config, err = Load(*body.ProjectDir); err != nil {
				log.Warn("the project's hooks are left out", "project", *body.ProjectDir, "err", err)
			}
		}
		return rest.JSON(w, http.StatusOK, answer)
	}}}
}
