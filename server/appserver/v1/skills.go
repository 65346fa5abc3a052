package v1

import (
	"net/http"
	"strconv"

	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/rest"
)

// listedSkill is a skill without its content (SkillInfo).
type listedSkill struct {
	Name     string   `json:"name"`
	Type     string   `json:"type"`   // repo for one without triggers, else knowledge
	Source   string   `json:"source"` // global or user
	Triggers []string `json:"triggers"`
}

// searchSkills lists the public and the user's skills. The id of a page is the number of
// skills before it: all come from directories of the server, in a fixed order.
func (s *Service) searchSkills(r *http.Request) (any, error) {
	q := rest.QueryOf(r)
	pageID, limit := q.String("page_id", ""), q.Limit("limit", 100, 100)
	if err := q.Err(); err != nil {
		return nil, err
	}
	from := 0
	if pageID != "" {
		n, err := strconv.ParseUint(pageID, 10, 31)
		if err != nil {
			return nil, schema.Invalid("Input should be the id of a page", pageID, "query", "page_id")
		}
		from = int(n)
	}
	all, next := s.o.Skills(), ""
	all = all[min(from, len(all)):]
	if len(all) > limit {
		all, next = all[:limit], strconv.Itoa(from+limit)
	}
	items := make([]listedSkill, len(all))
	for i, k := range all {
		items[i] = listedSkill{Name: k.Name, Type: "repo", Source: "user"}
		if k.Public {
			items[i].Source = "global"
		}
		if k.Trigger != nil {
			items[i].Type, items[i].Triggers = "knowledge", k.Trigger.Words
		}
	}
	return rest.PageOf(items, next), nil
}

var acpModelForm = &schema.Object{Name: "SwitchAcpModelRequest", Fields: []schema.Field{{Name: "model", Type: schema.String{Min: 1}, Required: true}}}

// switchACPModel gives the reference's refusal for agents that do not speak the Agent
// Client Protocol: here none do.
func (s *Service) switchACPModel(r *http.Request) (any, error) {
	id, err := pathID(r)
	if err != nil {
		return nil, err
	}
	if _, err := rest.BodyAs(r, acpModelForm); err != nil {
		return nil, err
	}
	if _, err := s.o.Conversations.One(r.Context(), owner(r), id); err != nil {
		return nil, missing(err, "Conversation")
	}
	return nil, rest.Fail(http.StatusBadRequest, "the agent of the conversation is not an ACP agent; use switch_profile")
}
