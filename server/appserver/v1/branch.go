package v1

import (
	"net/http"
	"time"

	"github.com/deft-dev/deft/checkpoint"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/optional"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/appserver/conversations"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/session"
)

// Additions to the contract: forks and undo with the files of the workspace, conversations
// that go on in a new sandbox, and the demo.

var (
	forkForm = &schema.Object{Name: "AppConversationForkRequest", Fields: []schema.Field{
		{Name: "event_id", Type: schema.Opt(schema.String{})},
		{Name: "title", Type: schema.Opt(schema.String{Max: 200})},
		{Name: "same_files", Type: schema.Bool{}, Default: false},
	}}
	undoForm = &schema.Object{Name: "AppConversationUndoRequest", Fields: []schema.Field{
		{Name: "event_id", Type: schema.Opt(schema.String{})},
		{Name: "keep_files", Type: schema.Bool{}, Default: false},
		{Name: "keep_commits", Type: schema.Bool{}, Default: false},
		{Name: "preview", Type: schema.Bool{}, Default: false},
	}}
)

func (s *Service) fork(r *http.Request) (any, error) {
	id, err := pathID(r)
	if err != nil {
		return nil, err
	}
	var req struct {
		At        event.ID `json:"event_id"`
		Title     string   `json:"title"`
		SameFiles bool     `json:"same_files"`
	}
	if err := rest.ReadOptional(r, forkForm, &req); err != nil {
		return nil, err
	}
	info, err := s.o.Conversations.Fork(r.Context(), owner(r), id, conversations.ForkRequest{At: req.At, Title: req.Title, SameFiles: req.SameFiles})
	if err != nil {
		return nil, err
	}
	return s.show(r, info), nil
}

// undone is the result of an undo, or of its preview.
type undone struct {
	From    event.ID `json:"from_event_id"`
	To      event.ID `json:"to_event_id"`
	Written []string `json:"files_written"`
	Removed []string `json:"files_removed"`
	// Checkout is the commit that Git has checked out again; null where that stays,
	// KeptWhy then says why if it was another one.
	Checkout *checkpoint.Checkout `json:"checkout"`
	KeptWhy  *string              `json:"checkout_kept"`
}

func (s *Service) undo(r *http.Request) (any, error) {
	id, err := pathID(r)
	if err != nil {
		return nil, err
	}
	var req struct {
		To        event.ID `json:"event_id"`
		KeepFiles bool     `json:"keep_files"`
		KeepGit   bool     `json:"keep_commits"`
		Preview   bool     `json:"preview"`
	}
	if err := rest.ReadOptional(r, undoForm, &req); err != nil {
		return nil, err
	}
	u, err := s.o.Conversations.Undo(r.Context(), owner(r), id, session.UndoOptions{To: req.To, KeepFiles: req.KeepFiles, Commits: !req.KeepGit, Preview: req.Preview})
	if err != nil {
		return nil, err
	}
	out := undone{From: u.From, To: u.To, Written: u.Files.Written, Removed: u.Files.Removed, KeptWhy: optional.Of(u.Commits.Kept)}
	if u.Commits.To.Commit != "" {
		out.Checkout = &u.Commits.To
	}
	if out.Written == nil {
		out.Written = []string{}
	}
	if out.Removed == nil {
		out.Removed = []string{}
	}
	return out, nil
}

// checkpoint says which files a fork or an undo at an event takes. Without event_id in the
// answer none are known there or before. Without time they are as they are now.
func (s *Service) checkpoint(r *http.Request) (any, error) {
	q := rest.QueryOf(r)
	at := event.ID(q.String("event_id", ""))
	if err := q.Err(); err != nil {
		return nil, err
	}
	id, err := pathID(r)
	if err != nil {
		return nil, err
	}
	k, err := s.o.Conversations.FilesKept(r.Context(), owner(r), id, at)
	if err != nil {
		return nil, err
	}
	out := struct {
		Event *string                 `json:"event_id"`
		Time  *string                 `json:"time"`
		Times session.CheckpointTimes `json:"checkpoints"`
		Slow  bool                    `json:"slow"`
	}{Event: optional.Of(string(k.At)), Times: k.Times, Slow: k.Slow}
	if !k.Time.IsZero() {
		out.Time = new(k.Time.Format(time.RFC3339Nano))
	}
	return out, nil
}

// resume answers when the conversation has a sandbox that runs.
func (s *Service) resume(r *http.Request) (any, error) {
	id, err := pathID(r)
	if err != nil {
		return nil, err
	}
	if _, err := s.o.Conversations.Continue(r.Context(), owner(r), id); err != nil {
		return nil, missing(err, "Conversation")
	}
	info, err := s.o.Conversations.One(r.Context(), owner(r), id)
	if err != nil {
		return nil, missing(err, "Conversation")
	}
	return s.show(r, info), nil
}

func (s *Service) demo(r *http.Request) (any, error) {
	info, err := s.o.Conversations.StartDemo(r.Context(), owner(r))
	if err != nil {
		return nil, err
	}
	return s.show(r, info), nil
}
