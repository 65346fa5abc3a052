package v0

import (
	"errors"
	"net/http"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/internal/optional"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/appserver/conversations"
	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/server/rest"
)

var triggers = schema.Enum{"resolver", "gui", "suggested_task", "openhands_api", "slack", triggerMicroagent, "jira", "jira_dc", "linear", "bitbucket", "automation"}

const triggerMicroagent = "microagent_management"

// listing is one page of conversations in the making. The list has those that are being
// started first, and then those that exist, the newest first. A page ends where the next
// one begins, so nothing is lost between pages.
type listing struct {
	s                   *Service
	r                   *http.Request
	repository, trigger string // "" for any
	limit               int
	results             []conversationInfo
	next                string
}

// Page ids begin with this while the list is at conversations that are being started.
const startingPages = "starting:"

// firstConversation is the page id of the first conversation that exists: the id of
// none, which event stores take for the beginning.
const firstConversation = "0"

// scanned bounds how many conversations are looked at for one page with a filter.
const scanned = 2000

func (l *listing) full() bool { return len(l.results) == l.limit }

func (l *listing) add(c conversationInfo) {
	if (l.repository == "" || c.Repository != nil && *c.Repository == l.repository) &&
		(l.trigger == "" || c.Trigger != nil && *c.Trigger == l.trigger) {
		l.results = append(l.results, c)
	}
}

// starts adds conversations that are being started and do not exist yet.
func (l *listing) starts(page string) error {
	ctx := l.r.Context()
	tasks, next, err := l.s.o.Conversations.SearchTasks(ctx, store.TaskQuery{Owner: string(owner(l.r)), Unfinished: true, Page: page, Limit: l.limit})
	if err != nil {
		return err
	}
	ids := make([]event.ConversationID, len(tasks))
	for i := range tasks {
		ids[i] = tasks[i].Conversation
	}
	made, err := l.s.o.Conversations.Get(ctx, owner(l.r), ids...)
	if err != nil {
		return err
	}
	for i := range tasks {
		if made[i] == nil {
			l.add(l.s.showTask(&tasks[i]))
		}
	}
	if next != "" {
		l.next = startingPages + next
	}
	return nil
}

// existing adds conversations that exist.
func (l *listing) existing(page string, withSubs bool) error {
	ctx := l.r.Context()
	tasks, _, err := l.s.o.Conversations.SearchTasks(ctx, store.TaskQuery{Owner: string(owner(l.r)), Unfinished: true, Limit: 100})
	if err != nil {
		return err
	}
	by := make(map[event.ConversationID]*store.Task, len(tasks))
	for i := range tasks {
		by[tasks[i].Conversation] = &tasks[i]
	}
	q := eventstream.ListQuery{PageID: page, WithoutParent: !withSubs, Limit: l.limit - len(l.results)}
	if l.repository != "" || l.trigger != "" {
		q.Limit = 100
	}
	for looked := 0; ; looked += q.Limit {
		var found []conversations.Info
		if found, l.next, err = l.s.o.Conversations.List(ctx, owner(l.r), q); err != nil {
			return err
		}
		for i := range found {
			if l.full() {
				l.next = string(found[i].Info.ID)
				return nil
			}
			l.add(l.s.show(l.r, &found[i], by[found[i].Info.ID]))
		}
		if l.next == "" || l.full() || looked >= scanned {
			return nil
		}
		q.PageID = l.next
	}
}

func (s *Service) search(w http.ResponseWriter, r *http.Request) error {
	q := rest.QueryOf(r)
	l := &listing{s: s, r: r, repository: q.String("selected_repository", "")}
	if q.Has("conversation_trigger") {
		l.trigger = q.Enum("conversation_trigger", "", triggers...)
	}
	return s.list(w, q, l)
}

// list answers with one page.
func (s *Service) list(w http.ResponseWriter, q *rest.Query, l *listing) error {
	page, withSubs := q.String("page_id", ""), q.Bool("include_sub_conversations", false)
	l.limit = q.Limit("limit", 20, 100)
	if err := q.Err(); err != nil {
		return err
	}
	if after, begun := strings.CutPrefix(page, startingPages); begun || page == "" {
		if err := l.starts(after); err != nil {
			return err
		}
		page = ""
		if l.next == "" && l.full() {
			l.next = firstConversation
		}
	}
	if l.next == "" {
		if err := l.existing(page, withSubs); err != nil {
			return err
		}
	}
	return rest.JSON(w, http.StatusOK, map[string]any{"results": append([]conversationInfo{}, l.results...), "next_page_id": optional.Of(l.next)})
}

// get answers with null where there is no conversation, as the reference.
func (s *Service) get(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return rest.JSON(w, http.StatusOK, nil)
	}
	info, t, err := s.find(r, id)
	switch {
	case isMissing(err):
		return rest.JSON(w, http.StatusOK, nil)
	case err != nil:
		return err
	case info == nil:
		return rest.JSON(w, http.StatusOK, s.showTask(t))
	}
	return rest.JSON(w, http.StatusOK, s.show(r, info, t))
}

var patchForm = &schema.Object{Name: "UpdateConversationRequest", Extra: schema.Forbid, Fields: []schema.Field{
	{Name: "title", Type: schema.String{Min: 1, Max: 200, Valid: notBlank}, Required: true},
}}

func notBlank(s string) error {
	if strings.TrimSpace(s) == "" {
		return errors.New("the title is empty")
	}
	return nil
}
