package eventstream

import (
	"context"
	"fmt"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/realpath"
)

// Names by which [Find] returns the conversation that was changed last: the first of a
// listing by [ListQuery.ByUpdated] without those that another one has started, as
// sub-agents' are.
const (
	// Last is the one of a directory.
	Last = "last"
	// LastAnywhere is the one of all directories.
	LastAnywhere = "last:any"
)

// Find returns the conversation that a user means by an id, by the beginning of
// one (dashes do not count), by [LastAnywhere], or by [Last]: that of dir, an absolute path
// without links, or of a directory around it. A conversation that names no directory belongs to
// all. NotFound if there is none, Invalid if there are several.
func Find(ctx context.Context, s Stream, name, dir string) (event.ConversationID, error) {
	switch name {
	case Last:
		return last(ctx, s, dir)
	case LastAnywhere:
		return last(ctx, s, "")
	}
	if id, ok := event.ParseConversationID(name); ok {
		_, err := s.Info(ctx, id)
		return id, err
	}
	prefix := strings.ToLower(strings.ReplaceAll(name, "-", ""))
	var found []event.ConversationID
	for q := (ListQuery{ByUpdated: true}); prefix != ""; {
		page, err := s.List(ctx, q)
		if err != nil {
			return "", err
		}
		for _, info := range page.Infos {
			if strings.HasPrefix(info.ID.Hex(), prefix) {
				found = append(found, info.ID)
			}
		}
		if q.PageID = page.NextID; q.PageID == "" {
			break
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", fault.New(fault.NotFound, "no conversation "+name).Hint("`deft conversations list --all` lists all conversations")
	}
	return "", fault.New(fault.Invalid, fmt.Sprintf("%d conversations begin with %s", len(found), name)).Hint("give more of the id")
}

// last returns the conversation of a directory that was changed last; "" stands for all.
func last(ctx context.Context, s Stream, dir string) (event.ConversationID, error) {
	var elsewhere *Info
	for q := (ListQuery{ByUpdated: true, WithoutParent: true}); ; {
		page, err := s.List(ctx, q)
		if err != nil {
			return "", err
		}
		for i, info := range page.Infos {
			if at := info.Meta.WorkingDir; dir == "" || at == "" || realpath.Inside(at, dir) {
				return info.ID, nil
			}
			if elsewhere == nil {
				elsewhere = &page.Infos[i]
			}
		}
		if q.PageID = page.NextID; q.PageID == "" {
			break
		}
	}
	if elsewhere != nil {
		return "", fault.New(fault.NotFound, "there is no conversation of "+dir+" yet").
			Hint(fmt.Sprintf("%s is the last one of all, %s in %s", LastAnywhere, elsewhere.ID, elsewhere.Meta.WorkingDir))
	}
	return "", fault.New(fault.NotFound, "there is no conversation yet")
}
