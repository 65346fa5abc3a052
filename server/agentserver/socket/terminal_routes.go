package socket

import (
	"net/http"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/tool"
)

// terminalRoutes list and close terminals without being connected to one, such as
// terminals of closed pages. They are Deft's own.
func (s *Service) terminalRoutes() []rest.Route {
	const all = "/api/conversations/{conversation_id}/terminals"
	return []rest.Route{
		{Method: http.MethodGet, Path: all, Tag: "Conversations", Hidden: true, Scope: rest.Sandbox, Handle: s.listTerminals},
		{Method: http.MethodDelete, Path: all + "/{terminal_id}", Tag: "Conversations", Hidden: true, Scope: rest.Sandbox, Handle: s.closeTerminal},
	}
}

// terminals returns the terminals of the conversation that a path names.
func (s *Service) terminals(r *http.Request) (tool.PTYs, error) {
	hex, err := rest.PathUUID(r, "conversation_id")
	if err != nil {
		return nil, err
	}
	id, _ := event.ParseConversationID(hex) // 32 digits
	c, err := s.o.Find(r.Context(), id)
	if fault.Is(err, fault.NotFound) {
		return nil, rest.Fail(http.StatusNotFound, "Conversation not found: "+string(id))
	}
	if err != nil {
		return nil, err
	}
	return c.Terminals(r.Context())
}

func (s *Service) listTerminals(w http.ResponseWriter, r *http.Request) error {
	all, err := s.terminals(r)
	if err != nil {
		return err
	}
	list, err := all.ListPTYs(r.Context())
	if err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, list)
}

func (s *Service) closeTerminal(w http.ResponseWriter, r *http.Request) error {
	all, err := s.terminals(r)
	if err == nil {
		err = all.ClosePTY(r.Context(), r.PathValue("terminal_id"))
	}
	if err != nil {
		return err
	}
	return rest.OK(w)
}
