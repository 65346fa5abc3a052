package conversation

import (
	"context"
	"encoding/json"

	"github.com/deft-dev/deft/event"
)

type review struct {
	c *Conversation
	w *work
}

func (r *review) judge(context.Context, []*event.ActionEvent) ([]event.Event, bool) { return nil, false }
func checkPolicy(json.RawMessage) error                                             { return nil }
func checkAnalyzer(json.RawMessage) error                                           { return nil }
