package settings

import (
	"context"
	"net/http"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/settings/agentsettings"
	"github.com/deft-dev/deft/spec"
)

// tested is a model's answer to a small request. The contract has no such route.
type tested struct {
	Works bool `json:"works"`
	// Kind is the kind of the failure, such as "auth"; Message is for people.
	Kind    *string `json:"kind"`
	Message *string `json:"message"`
}

// testModel tries the model of the settings, with which conversations start.
func (u user) testModel(r *http.Request) (any, error) {
	doc, err := u.Load()
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
		err = u.Check(ctx, l)
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

// testServer asks an MCP server of the settings for its tools. One that is a program runs in
// the sandbox of a conversation only, whose agent has its tools.
func (u user) testServer(r *http.Request) (any, error) {
	doc, err := u.Load()
	if err != nil {
		return nil, err
	}
	agent, err := agentsettings.Dump(doc.Agent, schema.Writing{Mode: schema.Plain})
	if err != nil {
		return nil, err
	}
	name := r.PathValue("name")
	server := agent.Object("mcp_config").Object(name)
	if server == nil {
		return nil, fault.New(fault.NotFound, "the settings have no MCP server "+name)
	}
	type answer struct {
		tested
		Tools []string `json:"tools"`
	}
	if server.Text("command") != "" {
		err := fault.New(fault.Unsupported, "it is a program, which runs in the sandbox of a conversation").
			Hint("the Agent panel of a new conversation lists its tools")
		return answer{testedWith(err), []string{}}, nil
	}
	raw, err := schema.Encode(server)
	if err != nil {
		return nil, err
	}
	tools, err := u.s.o.ProbeMCP(r.Context(), name, raw, probeTime)
	return answer{testedWith(err), append([]string{}, tools...)}, nil
}
