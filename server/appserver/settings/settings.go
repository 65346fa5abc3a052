package settings

import (
	"net/http"

	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/settings/agentsettings"
	"github.com/deft-dev/deft/settings/openhands"
)

func agentSchema(_ *http.Request) (any, error) {
	return agentsettings.AgentPage(), nil
}

func conversationSchema(_ *http.Request) (any, error) {
	return agentsettings.ConversationPage(), nil
}

// object reads a body that is any JSON object.
func object(r *http.Request) (*schema.Map, error) {
	v, err := rest.RequiredDocument(r)
	if err != nil {
		return nil, err
	}
	m, ok := v.(*schema.Map)
	if !ok {
		return nil, schema.Violations{{Type: "dict_type", Loc: []any{"body"}, Msg: "Input should be a valid dictionary"}}
	}
	return m, nil
}

func (u user) get(r *http.Request) (any, error) {
	v, err := u.configured(r.Context(), hidden)
	if err != nil {
		return nil, err
	}
	return v.nested(r.Context())
}

func (u user) post(r *http.Request) (any, error) {
	body, err := object(r)
	if err != nil {
		return nil, err
	}
	for _, key := range []string{"agent_settings", "conversation_settings"} {
		if _, ok := body.Lookup(key); ok {
			return nil, rest.Fail(http.StatusUnprocessableEntity, "'"+key+"' is not accepted: send the changes as '"+key+"_diff'")
		}
	}
	ignored, err := u.change(r.Context(), body)
	return stored{message{"Settings stored"}, ignored}, err
}

// stored is the answer to a change of settings. OpenHands takes fields without a meaning in
// silence; here they are named.
type stored struct {
	message
	Ignored []string `json:"ignored,omitempty"`
}

// limits answers with the limits of new conversations. The contract has no such route.
func (u user) limits(r *http.Request) (any, error) {
	l, err := u.s.o.Limits(r.Context(), u.caller.Tenant())
	return struct {
		session.Limits
		Networks []string `json:"networks"`
	}{l, append([]string{}, u.s.o.Networks...)}, err
}

// me answers with the caller and his settings. A program with an API key of his gets the
// secrets as well, if it asks for them, and the secrets of MCP servers if it has a
// sandbox: it starts agents with them.
func (u user) me(r *http.Request) (any, error) {
	q := rest.QueryOf(r)
	expose := q.Bool("expose_secrets", false)
	if err := q.Err(); err != nil {
		return nil, err
	}
	show := hidden
	if expose {
		if err := u.mayExpose(r); err != nil {
			return nil, err
		}
		show = exposed
	}
	v, err := u.view(r.Context(), show)
	if err != nil {
		return nil, err
	}
	if v.servers = schema.Nulled; show == exposed || u.inSandbox(r) {
		v.servers = schema.Plain
		if show == hidden {
			u.s.o.Log.Warn("MCP servers are read with their secrets in the clear", "owner", u.caller.Tenant(), "key", u.caller.Credential, "client", r.RemoteAddr)
		}
	}
	m, err := v.flat()
	if err != nil {
		return nil, err
	}
	nested, err := v.nested(r.Context())
	if err != nil {
		return nil, err
	}
	for _, key := range nested.Keys() {
		m.Set(key, nested.Get(key))
	}
	for key, value := range map[string]any{
		"id": string(u.caller.Tenant()), "org_id": organisation(u.caller.Tenant()), "org_name": "Personal", "role": "owner", "permissions": nil,
	} {
		m.Set(key, value)
	}
	return m, nil
}

var importBody = &schema.Object{Fields: []schema.Field{
	{Name: "files", Type: schema.List{Of: &schema.Object{Fields: []schema.Field{
		{Name: "name", Type: schema.String{Min: 1, Max: 256}, Required: true},
		{Name: "content", Type: schema.String{}, Required: true},
	}}}, Required: true},
	{Name: "apply", Type: schema.Bool{}, Default: false},
}}

// imported is the result of reading files of OpenHands. Nothing in it is a secret.
type imported struct {
	Taken   []openhands.Taken `json:"taken"`
	Left    []openhands.Left  `json:"left"`
	Applied bool              `json:"applied"`
}

// takeOver reads files of OpenHands, and stores their settings if it is told to
// apply.
func (u user) takeOver(r *http.Request) (any, error) {
	var form struct {
		Files []struct {
			Name    string `json:"name"`
			Content string `json:"content"`
		} `json:"files"`
		Apply bool `json:"apply"`
	}
	if err := rest.Read(r, importBody, &form); err != nil {
		return nil, err
	}
	files := make([]openhands.File, len(form.Files))
	for i, f := range form.Files {
		files[i] = openhands.File{Name: f.Name, Content: []byte(f.Content)}
	}
	plan, err := openhands.Read(files...)
	if err != nil {
		return nil, err
	}
	out := imported{Taken: plan.Taken, Left: plan.Left, Applied: form.Apply}
	if form.Apply {
		var check openhands.Check
		if u.s.o.Tokens != nil {
			check = u.s.o.Tokens.CheckToken
		}
		more, err := plan.Apply(r.Context(), u.Service, check)
		if err != nil {
			return nil, err
		}
		out.Left = append(out.Left, more...)
	}
	return out, nil
}
