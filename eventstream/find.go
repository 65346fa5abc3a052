package eventstream

import (
	"context"
	"fmt"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
)

// Last is the name by which [Find] returns the conversation that was changed
// last: the first of a listing by [ListQuery.ByUpdated] without those that another one has
// started, as sub-agents' are.
const Last = "last"

// Find returns the conversation that a user means by an id, by the beginning of
// one (dashes do not count), or by [Last]. NotFound if there is none, Invalid if
// there are several.
func Find(ctx context.Context, s Stream, name string) (event.ConversationID, error) {
	if id, ok := event.ParseConversationID(name); ok {
		_, err := s.Info(ctx, id)
		return id, err
	}
	prefix := strings.ToLower(strings.ReplaceAll(name, "-", ""))
	var found []event.ConversationID
	for q := (ListQuery{ByUpdated: true, WithoutParent: name == Last}); ; {
		page, err := s.List(ctx, q)
		if err != nil {
			return "", err
		}
		for _, info := range page.Infos {
			switch {
			case name == Last:
				return info.ID, nil
			case prefix != "" && strings.HasPrefix(info.ID.Hex(), prefix):
				found = append(found, info.ID)
			}
		}
		if q.PageID = page.NextID; q.PageID == "" {
			break
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return "", fault.New(fault.Invalid, fmt.Sprintf("%d conversations begin with %s", len(found), name)).Hint("give more of the id")
	case name == Last:
		return "", fault.New(fault.NotFound, "there is no conversation yet")
	}
	return "", fault.New(fault.NotFound, "no conversation "+name).Hint("`deft conversations list` shows what is stored")
}
