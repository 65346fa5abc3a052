package v0

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/server/appserver/v0event"
	"github.com/deft-dev/deft/server/rest"
)

// How many events before and after the one that a user points at a prompt is about.
const (
	eventsBefore = 4
	eventsAfter  = 5
)

// maxRemembered bounds what of an event is quoted, in bytes of its JSON.
const maxRemembered = 8 << 10

const rememberQuestion = `Write a prompt for another agent. It shall ask that agent to write down, in the file AGENTS.md of this repository, what future agents should know because of the events below: rules, commands, corrections of the user, and how problems were solved. It must say everything that is needed, since that agent does not see this conversation, and nothing that only mattered once. Answer with the prompt only, between <update_prompt> and </update_prompt>.

The events:
`

// rememberPrompt lets the model write the prompt by which an agent remembers what
// happened around an event.
func (s *Service) rememberPrompt(w http.ResponseWriter, r *http.Request) error {
	q := rest.QueryOf(r)
	q.Required("event_id")
	at := int64(q.Int("event_id", 0, 0, 1<<62))
	if err := q.Err(); err != nil {
		return err
	}
	events, err := s.around(r, at)
	if err != nil {
		return err
	}
	id, err := pathID(r)
	if err != nil {
		return err
	}
	c, err := s.o.Conversations.Open(r.Context(), owner(r), id)
	if err != nil {
		return err
	}
	answer, err := c.Ask(r.Context(), rememberQuestion+events)
	if err != nil {
		return err
	}
	_, prompt, begun := strings.Cut(answer, "<update_prompt>")
	prompt, _, ended := strings.Cut(prompt, "</update_prompt>")
	if prompt = strings.TrimSpace(prompt); !begun || !ended || prompt == "" {
		return fault.New(fault.Unavailable, "the model has not written a prompt").Hint("try again")
	}
	return rest.JSON(w, http.StatusOK, map[string]string{"status": "success", "prompt": prompt})
}

// around returns the events around one, as text. NotFound if it does not exist.
func (s *Service) around(r *http.Request, at int64) (string, error) {
	st, id, err := s.stream(r)
	if err != nil {
		return "", err
	}
	missing := fault.New(fault.NotFound, "the event does not exist")
	if st == nil {
		return "", missing
	}
	tells := v0event.Filter{ExcludeHidden: true, ExcludeTypes: []string{"null", "change_agent_state", "agent_state_changed", "system"}}
	one, _, err := v0event.Page(r.Context(), st, id, v0event.Query{Start: at, End: at, Limit: 1})
	if err == nil && len(one) == 0 {
		err = missing
	}
	if err != nil {
		return "", err
	}
	before, _, err := v0event.Page(r.Context(), st, id, v0event.Query{End: at, Reverse: true, Limit: eventsBefore, Filter: tells})
	if err != nil {
		return "", err
	}
	after, _, err := v0event.Page(r.Context(), st, id, v0event.Query{Start: at + 1, End: -1, Limit: eventsAfter, Filter: tells})
	if err != nil {
		return "", err
	}
	slices.Reverse(before)
	var b strings.Builder
	for _, e := range append(before, after...) {
		raw, err := json.Marshal(e)
		if err != nil {
			return "", err
		}
		if len(raw) > maxRemembered {
			raw = append(raw[:maxRemembered], " …"...)
		}
		b.WriteString(strings.ToValidUTF8(string(raw), "") + "\n")
	}
	return b.String(), nil
}
