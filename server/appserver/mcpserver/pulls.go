package mcpserver

import (
	"context"
	"slices"
	"strconv"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/forge"
	"github.com/deft-dev/deft/identity"
)

// conversation is whose tools are made.
type conversation struct {
	s     *Service
	owner identity.Tenant
	id    event.ConversationID
}

// field is a parameter of a tool.
type field struct {
	name, typ, about string
	optional         bool
}

// schemaOf describes the parameters of a tool.
func schemaOf(fields ...field) *jsonschema.Schema {
	out := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}}
	for _, f := range fields {
		one := &jsonschema.Schema{Type: f.typ, Description: f.about}
		if f.typ == "array" { // of texts; type labels reads both
			one.Type, one.Types = "", []string{"array", "string"}
			one.Items = &jsonschema.Schema{Type: "string"}
		}
		if f.typ == "" {
			one.Types = []string{"integer", "string"}
		}
		out.Properties[f.name] = one
		if !f.optional {
			out.Required = append(out.Required, f.name)
		}
	}
	return out
}

var (
	source = field{"source_branch", "string", "The branch with the changes. It must have been pushed.", false}
	target = field{"target_branch", "string", "The branch that the changes are for.", false}
	title  = field{"title", "string", "The title.", false}
	marks  = field{"labels", "array", "Labels to add, which must exist.", true}
	draft  = field{"draft", "boolean", "Whether it is a draft (default: true).", true}
)

func about(name, what string) field {
	return field{name, "string", "What " + what + " does and why.", true}
}

// addPulls adds the tools for pull requests, and reports whether there are some.
func (c conversation) addPulls(ctx context.Context, server *sdk.Server) (bool, error) {
	rows, err := c.s.o.Store.Conversations(ctx, string(c.owner), c.id)
	if err != nil || rows[c.id].Repository == "" {
		return false, err
	}
	providers, err := c.s.o.Providers(ctx, c.owner)
	if err != nil {
		return false, err
	}
	has := func(p forge.Provider) bool { return slices.Contains(providers, p) }
	some := false
	add := func(p forge.Provider, name, description string, fields ...field) {
		some = true
		tool := &sdk.Tool{Name: name, Description: description, InputSchema: schemaOf(fields...)}
		sdk.AddTool(server, tool, func(ctx context.Context, _ *sdk.CallToolRequest, in proposal) (*sdk.CallToolResult, any, error) {
			out, err := c.propose(ctx, p, in)
			return out, nil, err
		})
	}
	named := field{"repo_name", "string", "The repository, as owner/name.", false}
	switch {
	case has(forge.Forgejo) && (rows[c.id].Provider == string(forge.Forgejo) || !has(forge.GitHub)):
		add(forge.Forgejo, "create_pr", "Open a pull request at the Forgejo or Gitea server.", named, source, target, title, about("body", "the change"), draft, marks)
	case has(forge.GitHub):
		add(forge.GitHub, "create_pr", "Open a pull request at GitHub.", named, source, target, title, about("body", "the change"), draft, marks)
	}
	if has(forge.GitLab) {
		id := field{"id", "", "The project: its id, or its path such as group/project.", false}
		add(forge.GitLab, "create_mr", "Open a merge request at GitLab.", id, source, target, title, about("description", "the change"), marks)
	}
	if has(forge.Bitbucket) {
		add(forge.Bitbucket, "create_bitbucket_pr", "Open a pull request at Bitbucket.", named, source, target, title, about("description", "the change"))
	}
	return some, nil
}

// proposal has the parameters of all the tools.
type proposal struct {
	Repository  string `json:"repo_name"`
	ID          any    `json:"id"`
	Source      string `json:"source_branch"`
	Target      string `json:"target_branch"`
	Title       string `json:"title"`
	Body        string `json:"body"`
	Description string `json:"description"`
	Draft       *bool  `json:"draft"`
	Labels      labels `json:"labels"`
}

// propose opens a pull request, and notes its number in the conversation.
func (c conversation) propose(ctx context.Context, p forge.Provider, in proposal) (*sdk.CallToolResult, error) {
	host, err := c.s.o.Host(ctx, c.owner, p)
	if err != nil {
		return nil, said(err)
	}
	repository := in.Repository
	switch id := in.ID.(type) {
	case string:
		repository = id
	case float64:
		repository = strconv.FormatInt(int64(id), 10)
	}
	if in.Source == "" || in.Target == "" || in.Title == "" {
		return nil, fault.New(fault.Invalid, "source_branch, target_branch and title must not be empty")
	}
	isDraft := p == forge.GitHub || p == forge.Forgejo
	if in.Draft != nil {
		isDraft = *in.Draft
	}
	made, err := c.s.o.Conversations.Propose(ctx, c.owner, c.id, host, forge.Proposal{
		Repository: repository, Source: in.Source, Target: in.Target, Title: in.Title, Description: in.Body + in.Description, Draft: isDraft, Labels: in.Labels,
	})
	if err != nil {
		return nil, said(err)
	}
	out := []string{made.URL}
	if made.Warning != "" {
		out = append(out, made.Warning)
	}
	return text(out...), nil
}
