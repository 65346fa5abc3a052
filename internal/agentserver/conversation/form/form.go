// Package form describes the bodies of requests about conversations as data,
// so that all that is wrong with one is said at once and in its place, also of
// fields that have no effect here (sdk-wire.md section 5.1, sdk-wire-1.58.md
// section B.2).
//
// # Usage
//
//	if err := form.Start(raw); err != nil {
//		return err // rest.Violations
//	}
//
// # Concurrency and failure
//
// Everything is safe for concurrent use. Bodies that are no JSON objects are
// left to who decodes them. What is said of an agent is checked where agents
// are made.
package form

import (
	"encoding/json"
	"errors"

	"github.com/deft-dev/deft/internal/agentserver/rest"
	s "github.com/deft-dev/deft/internal/agentserver/settings/shape"
)

// Start says what is wrong with a request for a conversation.
func Start(raw []byte) error {
	var given map[string]json.RawMessage
	if json.Unmarshal(raw, &given) != nil || given == nil {
		return nil //nolint:nilerr // left to who decodes it
	}
	has := func(name string) bool { raw, ok := given[name]; return ok && string(raw) != "null" }
	profile, other := has("agent_profile_id"), has("agent") || has("agent_settings")
	if profile && other {
		return rest.Invalid("agent_profile_id cannot be combined with agent or agent_settings", nil, "body")
	}
	doc, err := check(start, given)
	switch {
	case err != nil:
		return err
	case !profile && !other:
		return rest.Invalid("one of agent, agent_settings or agent_profile_id is required", nil, "body")
	case !profile && doc.Object("agent_launch_additions").Text("llm_profile_ref") != "":
		return rest.Invalid("agent_launch_additions.llm_profile_ref needs an agent_profile_id", nil, "body")
	}
	return nil
}

// Message says what is wrong with a message that is sent.
func Message(raw []byte) error {
	return Check(message, raw)
}

// check reads those fields that the form has.
func check(form *s.Object, given map[string]json.RawMessage) (*s.Map, error) {
	doc := s.NewMap()
	for _, f := range form.Fields {
		raw, ok := given[f.Name]
		if !ok {
			continue
		}
		v, err := s.Parse(raw)
		if err != nil { // nested too deeply
			return nil, rest.Invalid(err.Error(), nil, "body", f.Name)
		}
		doc.Set(f.Name, v)
	}
	return form.Check(doc, s.Reading{}, "body")
}

var (
	text  = s.Opt(s.String{})
	names = s.List{Of: s.String{}}
	flag  = s.Bool{}
)

// blank takes null as if there were nothing, and looks at all else.
func blank(first func(v any) error, of s.Type) s.Type { return s.Opt(s.Guarded{First: first, Of: of}) }

var errNotPath = errors.New("working_dir is not a path")
