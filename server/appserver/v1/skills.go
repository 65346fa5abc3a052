package v1

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/skill"
	"github.com/deft-dev/deft/spec"
)

// listedSkill is a skill without its content (SkillInfo).
type listedSkill struct {
	Name     string   `json:"name"`
	Type     string   `json:"type"`   // repo for one without triggers, else knowledge
	Source   string   `json:"source"` // global or user
	Triggers []string `json:"triggers"`
}

// searchSkills lists the public and the user's skills. The id of a page is the number of
// skills before it: all come from directories of the server, in a fixed order. The user of
// this machine is told which files are left out.
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
	all, warnings := s.o.Skills()
	next, problems := "", []string{}
	if owner(r) == identity.LocalTenant { // they name files of this machine
		problems = append(problems, skill.LeftOut(warnings)...)
	}
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
	return struct {
		rest.Page[listedSkill]
		Problems []string `json:"problems"`
	}{rest.PageOf(items, next), problems}, nil
}

var acpModelForm = &schema.Object{Name: "SwitchAcpModelRequest", Fields: []schema.Field{{Name: "model", Type: schema.String{Min: 1}, Required: true}}}

// switchACPModel has an agent that is another program use another of its models.
func (s *Service) switchACPModel(r *http.Request) (any, error) {
	id, err := pathID(r)
	if err != nil {
		return nil, err
	}
	var req struct {
		Model string `json:"model"`
	}
	if err := rest.Read(r, acpModelForm, &req); err != nil {
		return nil, err
	}
	c, err := s.o.Conversations.Open(r.Context(), owner(r), id)
	if err != nil {
		return nil, missing(err, "Conversation")
	}
	if c.Agent().Kind != spec.ACPKind {
		return nil, rest.Fail(http.StatusBadRequest, "the agent of the conversation is not an ACP agent; use switch_profile")
	}
	err = c.SwitchProgramModel(r.Context(), req.Model)
	if _, refused := errors.AsType[*agent.Failure](err); refused {
		return nil, rest.Fail(http.StatusBadRequest, err.Error())
	}
	if err != nil {
		return nil, err
	}
	return rest.Done, nil
}
