package hook

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	s "github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

// eventNames are the moments at which hooks run, as they are written on the
// wire.
var eventNames = []string{"pre_tool_use", "post_tool_use", "user_prompt_submit", "session_start", "session_end", "stop"}

// Schema describes a [Config] in all forms that are in use: events in
// snake_case or as PreToolUse, at the top or below the key "hooks".
var Schema = spec.Reference("HookConfig", s.Object{Before: plainEvents})

var _ = spec.Reference("HookDefinition", s.Object{After: checkHook},
	s.Field{Name: "command", Default: ""},
	s.Field{Name: "async_", Type: s.Bool{}, Default: false}, // the reference's attribute name
)

// checkHook applies the rules between the fields of a hook.
func checkHook(m *s.Map) error {
	kind, command, prompt := m.Text("type"), m.Text("command"), m.Text("prompt")
	async := m.Get("async") == true || m.Get("async_") == true
	m.Set("async", async)
	m.Delete("async_")
	switch {
	case kind == Command && command == "":
		return errors.New("'command' is required when type is 'command'")
	case kind == Prompt && prompt == "":
		return errors.New("'prompt' is required when type is 'prompt'")
	case kind != Command && command != "":
		return errors.New("'command' must not be set when type is '" + kind + "'")
	case kind != Command && async:
		return errors.New("'async' is not supported for " + kind + " hooks")
	}
	return nil
}

// plainEvents moves the events to the top, under their names in snake_case.
func plainEvents(m *s.Map) error {
	given := m.Copy()
	if inner, ok := m.Lookup("hooks"); ok {
		below, ok := inner.(*s.Map)
		if !ok {
			return errors.New("hooks are not an object")
		}
		given = below
	}
	*m = s.Map{}
	for _, name := range given.Keys() {
		event := snake(name)
		if event != name && !slices.Contains(eventNames, event) {
			return fmt.Errorf("there is no hook event %q", name)
		}
		if _, twice := m.Lookup(event); twice {
			return fmt.Errorf("the hook event %s is given twice", event)
		}
		m.Set(event, given.Get(name))
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
