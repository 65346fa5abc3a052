package v0

import (
	"net/http"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/server/rest"
)

// feedbackForm describes a user's opinion. The events are those of the conversation: a
// trajectory that is sent along is not read.
var feedbackForm = &schema.Object{Name: "Feedback", Fields: []schema.Field{
	{Name: "email", Type: schema.String{Max: 320}, Default: ""},
	{Name: "version", Type: schema.String{Max: 100}, Default: ""},
	{Name: "permissions", Type: schema.Enum{"private", "public"}, Default: "private"},
	{Name: "polarity", Type: schema.Enum{"positive", "negative"}, Required: true},
}}

// feedback is a stored opinion.
type feedback struct {
	ID          string `json:"feedback_id"`
	Polarity    string `json:"polarity"`
	Permissions string `json:"permissions"`
	Email       string `json:"email"`
	Version     string `json:"version"`
	Events      int64  `json:"events"`
	Created     string `json:"created_at"`
}

// submitFeedback stores an opinion in this server, where its owner finds it by
// listFeedback. The reference sends it with all events to a service of its makers; here
// nothing leaves the server.
func (s *Service) submitFeedback(w http.ResponseWriter, r *http.Request) error {
	st, id, err := s.stream(r)
	if err != nil {
		return err
	}
	var req feedback
	if err := rest.Read(r, feedbackForm, &req); err != nil {
		return err
	}
	f := store.Feedback{
		ID: event.NewConversationID().Hex(), Owner: string(owner(r)), Conversation: id, Polarity: req.Polarity,
		Permissions: req.Permissions, Email: req.Email, Version: req.Version, Created: time.Now(),
	}
	if st != nil {
		last, err := st.Last(r.Context(), id)
		if err != nil {
			return err
		}
		f.Events = int64(last)
	}
	if err := s.o.Store.AddFeedback(r.Context(), f); err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, map[string]any{
		"statusCode": http.StatusOK,
		"body":       map[string]string{"message": "Feedback stored in this server", "feedback_id": f.ID, "password": ""},
	})
}

func (s *Service) listFeedback(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err == nil {
		_, err = s.named(r)
	}
	if err != nil {
		return err
	}
	found, err := s.o.Store.Feedback(r.Context(), string(owner(r)), id)
	if err != nil {
		return err
	}
	out := make([]feedback, len(found))
	for i, f := range found {
		out[i] = feedback{f.ID, f.Polarity, f.Permissions, f.Email, f.Version, f.Events, stamp(f.Created)}
	}
	return rest.JSON(w, http.StatusOK, map[string]any{"feedback": out})
}
