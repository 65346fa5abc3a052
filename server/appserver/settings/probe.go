package settings

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/settings"
	"github.com/deft-dev/deft/spec"
)

// tested is a model's answer to a small request. The contract has no such route.
type tested struct {
	Works bool `json:"works"`
	// Kind is the kind of the failure, such as "auth"; Message is for people.
	Kind    *string `json:"kind"`
	Message *string `json:"message"`
}

// candidate is a model that is tried before it is stored: a change to the model of the settings.
var candidate = &schema.Object{Fields: []schema.Field{{Name: "llm", Type: schema.Dict{Of: schema.Any{}}, Required: true}}}

// testModel tries the model of the settings, with which conversations start, or one that
// the body has.
func (u user) testModel(r *http.Request) (any, error) {
	body, sent, err := rest.Document(r)
	if err != nil {
		return nil, err
	}
	var change settings.Diff
	if sent {
		checked, err := schema.Check(candidate, body, schema.Reading{}, "body")
		if err != nil {
			return nil, err
		}
		change.Agent = schema.Of("llm", checked.(*schema.Map).Object("llm"))
	}
	doc, err := u.Tried(change)
	if err != nil {
		return nil, err
	}
	l, err := spec.LLMFrom(u.WithCommonLLM(doc.Agent).Object("llm"))
	if err != nil {
		return nil, err
	}
	return u.try(r.Context(), l), nil
}

// testProfile tries the model of a profile.
func (u user) testProfile(r *http.Request) (any, error) {
	name, err := profileName(r)
	if err != nil {
		return nil, err
	}
	l, err := u.Profiles.LLMs.Load(r.Context(), name)
	if err != nil {
		return nil, err
	}
	return u.try(r.Context(), l), nil
}

func (u user) try(ctx context.Context, l *spec.LLM) tested {
	err := l.Resolve(u.Profiles.Connections.Find(ctx), "")
	if err == nil {
		err = u.Try(ctx, l)
	}
	return testedWith(err)
}

// testedWith is how a test went that ended with an error, or nil.
func testedWith(err error) tested {
	if err == nil {
		return tested{Works: true}
	}
	return tested{Kind: new(string(fault.KindOf(err))), Message: new(fault.Text(err))}
}

// probeTime bounds the connection to an MCP server that is tested, and its list of tools.
const probeTime = 20 * time.Second

// tryTime is probeTime for a program, which may be fetched first.
const tryTime = time.Minute

// testServer asks an MCP server of the settings for its tools. One that is a program runs in
// a sandbox of its own.
func (u user) testServer(r *http.Request) (any, error) {
	name := r.PathValue("name")
	server, err := u.mcpServer(name)
	if err != nil {
		return nil, err
	}
	type answer struct {
		tested
		Tools []string `json:"tools"`
	}
	raw, err := schema.Encode(server)
	if err != nil {
		return nil, err
	}
	var tools []string
	if server.Text("command") == "" {
		tools, err = u.s.o.ProbeMCP(r.Context(), name, raw, probeTime, u.Service)
	} else {
		tools, err = u.tryProgram(r.Context(), name, raw)
	}
	return answer{testedWith(err), append([]string{}, tools...)}, nil
}

// tryProgram waits until no other sandbox is tried.
func (u user) tryProgram(ctx context.Context, name string, server json.RawMessage) ([]string, error) {
	if err := u.s.trying.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer u.s.trying.Release(1)
	return u.s.o.TryMCP(ctx, name, server, tryTime)
}
