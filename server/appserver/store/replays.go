package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/deft-dev/deft/event"
)

// Replay is a conversation that replays what was recorded and is not through with it.
type Replay struct {
	Conversation event.ConversationID
	Owner        string
	Created      time.Time
}

const replayColumns = "conversation, owner, created_at"

// AddReplay stores that a conversation begins to replay, RateLimit as [Store.AddTask]. It is no
// error if it does so already.
func (s *Store) AddReplay(ctx context.Context, r Replay, l RunLimit) error {
	return s.change(ctx, func(t tx) error {
		if err := t.admitRun(r.Owner, l); err != nil {
			return err
		}
		_, err := t.exec("INSERT INTO app_replays ("+replayColumns+") VALUES ("+marks(3)+") ON CONFLICT (conversation) DO NOTHING", string(r.Conversation), r.Owner, micro(r.Created))
		return err
	})
}

// Replays returns those of all owners, the oldest first.
func (s *Store) Replays(ctx context.Context) (all []Replay, err error) {
	rows, err := s.on(ctx).rows("SELECT " + replayColumns + " FROM app_replays ORDER BY created_at, conversation")
	if err != nil {
		return nil, failed(err)
	}
	defer rows.Close()
	for rows.Next() {
		r, err := replay(rows)
		if err != nil {
			return nil, failed(err)
		}
		all = append(all, r)
	}
	return all, failed(rows.Err())
}

// Replay returns that of a conversation, whoever's it is. NotFound if there is none.
func (s *Store) Replay(ctx context.Context, id event.ConversationID) (Replay, error) {
	r, err := replay(s.on(ctx).row("SELECT "+replayColumns+" FROM app_replays WHERE conversation = ?", string(id)))
	if errors.Is(err, sql.ErrNoRows) {
		err = missing("replay at work", string(id))
	}
	return r, failed(err)
}

func replay(row scanner) (r Replay, err error) {
	var id string
	var created int64
	err = row.Scan(&id, &r.Owner, &created)
	r.Conversation, r.Created = event.ConversationID(id), at(created)
	return r, err
}

// DeleteReplay stores that a replay has ended. It is no error if there is none.
func (s *Store) DeleteReplay(ctx context.Context, id event.ConversationID) error {
	_, err := s.on(ctx).exec("DELETE FROM app_replays WHERE conversation = ?", string(id))
	return failed(err)
}
