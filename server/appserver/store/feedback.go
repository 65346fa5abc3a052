package store

import (
	"context"
	"time"

	"github.com/deft-dev/deft/event"
)

// Feedback is what a user thinks of a conversation.
type Feedback struct {
	ID           string
	Owner        string
	Conversation event.ConversationID
	Polarity     string // positive or negative
	Permissions  string // private or public: whether its user would show it to others
	Email        string
	Version      string // of the client
	Events       int64  // how many events the conversation had
	Created      time.Time
}

// AddFeedback stores a user's opinion.
func (s *Store) AddFeedback(ctx context.Context, f Feedback) error {
	_, err := s.on(ctx).exec("INSERT INTO app_feedback (id, owner, conversation, polarity, permissions, email, version, events, created_at) VALUES ("+marks(9)+")",
		f.ID, f.Owner, string(f.Conversation), f.Polarity, f.Permissions, f.Email, f.Version, f.Events, micro(f.Created))
	return failed(err)
}

// Feedback returns what an owner has said of a conversation, the oldest first.
func (s *Store) Feedback(ctx context.Context, owner string, id event.ConversationID) (all []Feedback, err error) {
	rows, err := s.on(ctx).rows("SELECT id, polarity, permissions, email, version, events, created_at FROM app_feedback WHERE owner = ? AND conversation = ? ORDER BY created_at, id", owner, string(id))
	if err != nil {
		return nil, failed(err)
	}
	defer rows.Close()
	for rows.Next() {
		f := Feedback{Owner: owner, Conversation: id}
		var created int64
		if err := rows.Scan(&f.ID, &f.Polarity, &f.Permissions, &f.Email, &f.Version, &f.Events, &created); err != nil {
			return nil, failed(err)
		}
		f.Created = at(created)
		all = append(all, f)
	}
	return all, failed(rows.Err())
}
