package v1

import (
	"net/http"

	"github.com/deft-dev/deft/forge"
	"github.com/deft-dev/deft/internal/optional"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/rest"
)

// Additions to the contract: the push of a conversation's commits, and its pull
// request.

var (
	pushForm = &schema.Object{Name: "AppConversationPushRequest", Fields: []schema.Field{
		{Name: "branch", Type: schema.String{Min: 1, Max: 255}, Required: true},
	}}
	pullRequestForm = &schema.Object{Name: "AppConversationPullRequest", Fields: []schema.Field{
		{Name: "source_branch", Type: schema.String{Min: 1, Max: 255}, Required: true},
		{Name: "target_branch", Type: schema.Opt(schema.String{Max: 255})},
		{Name: "title", Type: schema.String{Min: 1, Max: 255}, Required: true},
		{Name: "description", Type: schema.String{Max: 64 << 10}, Default: ""},
		{Name: "draft", Type: schema.Bool{}, Default: false},
	}}
)

func (s *Service) push(r *http.Request) (any, error) {
	id, err := pathID(r)
	if err != nil {
		return nil, err
	}
	var req struct {
		Branch string `json:"branch"`
	}
	if err := rest.Read(r, pushForm, &req); err != nil {
		return nil, err
	}
	return s.o.Conversations.Push(r.Context(), owner(r), id, req.Branch)
}

func (s *Service) pullRequest(r *http.Request) (any, error) {
	id, err := pathID(r)
	if err != nil {
		return nil, err
	}
	var req struct {
		Source      string `json:"source_branch"`
		Target      string `json:"target_branch"`
		Title       string `json:"title"`
		Description string `json:"description"`
		Draft       bool   `json:"draft"`
	}
	if err := rest.Read(r, pullRequestForm, &req); err != nil {
		return nil, err
	}
	made, err := s.o.Conversations.ProposeOwn(r.Context(), owner(r), id, forge.Proposal{
		Source: req.Source, Target: req.Target, Title: req.Title, Description: req.Description, Draft: req.Draft,
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{"number": made.Number, "url": made.URL, "warning": optional.Of(made.Warning)}, nil
}
