package hooks

import (
	"errors"
	"fmt"

	s "github.com/deft-dev/deft/schema"
)

// Schema describes a [Config] as it comes in a request, in all forms that are
// in use.
var Schema = &s.Object{
	Name: "HookConfig", Extra: s.Forbid, Before: plainEvents,
	Fields: []s.Field{
		events("pre_tool_use"), events("post_tool_use"), events("user_prompt_submit"),
		events("session_start"), events("session_end"), events("stop"),
	},
}

func events(name string) s.Field {
	return s.Field{Name: name, Type: s.List{Of: matcherSchema}, Default: []any{}}
}

var (
	text  = s.Opt(s.String{})
	names = s.List{Of: s.String{}}
)

var matcherSchema = &s.Object{
	Name: "HookMatcher",
	Fields: []s.Field{
		{Name: "matcher", Type: s.String{}, Default: "*"},
		{Name: "hooks", Type: s.List{Of: hookSchema}, Default: []any{}},
	},
}

var hookSchema = &s.Object{
	Name: "HookDefinition", After: checkHook,
	Fields: []s.Field{
		{Name: "type", Type: s.Choice{Command, Prompt, Agent}, Default: Command},
		{Name: "name", Type: text},
		{Name: "command", Type: s.String{}, Default: ""},
		{Name: "prompt", Type: text},
		{Name: "system_prompt", Type: text},
		{Name: "tools", Type: names, Default: []any{}},
		{Name: "timeout", Type: s.Int{}, Default: s.Count(60)},
		{Name: "max_iterations", Type: s.Int{}, Default: s.Count(3)},
		{Name: "async", Type: s.Bool{}, Default: false},
		{Name: "async_", Type: s.Bool{}, Default: false},
	},
}

func checkHook(m *s.Map) error {
	h := Hook{Type: m.Text("type"), Command: m.Text("command"), Async: m.Get("async") == true || m.Get("async_") == true}
	if p, ok := m.Get("prompt").(string); ok {
		h.Prompt = &p
	}
	return h.check()
}

// plainEvents brings the events to the top, under their names in snake_case.
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
	known := (&Config{}).events()
	for _, name := range given.Keys() {
		event := snake(name)
		if event != name && known[event] == nil {
			return fmt.Errorf("there is no hook event %q", name)
		}
		if _, twice := m.Lookup(event); twice {
			return fmt.Errorf("the hook event %s is given twice", event)
		}
		m.Set(event, given.Get(name))
	}
	return nil
}
