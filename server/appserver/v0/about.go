package v0

import (
	"net/http"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/server/appserver/conversations"
	"github.com/deft-dev/deft/server/rest"
)

// config names the sandbox of a conversation.
func (s *Service) config(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	info, t, err := s.find(r, id)
	if err != nil {
		return err
	}
	var sandbox *string
	switch {
	case info == nil:
		sandbox = orNull(t.Sandbox)
	case info.In != nil:
		sandbox = &info.In.ID
	}
	return rest.JSON(w, http.StatusOK, map[string]any{"runtime_id": sandbox, "session_id": id.Hex()})
}

// vscode starts VS Code in the sandbox and says where it is, or why it is nowhere.
func (s *Service) vscode(w http.ResponseWriter, r *http.Request) error {
	info, err := s.named(r)
	if err != nil {
		return err
	}
	say := func(at *string, why any) error {
		return rest.JSON(w, http.StatusOK, map[string]any{"vscode_url": at, "error": why})
	}
	if s.o.Editor == nil || info == nil {
		return say(nil, "There is no sandbox yet.")
	}
	at, err := s.o.Editor(r, info)
	switch {
	case fault.Is(err, fault.NotFound), fault.Is(err, fault.Unsupported), fault.Is(err, fault.Conflict):
		return say(nil, describe(err))
	case err != nil:
		return err
	}
	return say(&at, nil)
}

// webHosts says which programs in the sandbox a browser reaches, and where.
func (s *Service) webHosts(w http.ResponseWriter, r *http.Request) error {
	info, err := s.named(r)
	if err != nil {
		return err
	}
	hosts := map[string]int{}
	if s.o.Apps != nil && info != nil {
		if hosts, err = s.o.Apps(r, info); err != nil {
			return err
		}
	}
	return rest.JSON(w, http.StatusOK, map[string]any{"hosts": hosts})
}

// experiment answers that the configuration of an experiment was not stored: there are
// none.
func (s *Service) experiment(w http.ResponseWriter, r *http.Request) error {
	if _, _, err := rest.Document(r); err != nil {
		return err
	}
	if _, err := s.named(r); err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, false)
}

// named is the conversation that a path names, nil while it is only about to start. NotFound
// if there is none.
func (s *Service) named(r *http.Request) (*conversations.Info, error) {
	id, err := pathID(r)
	if err != nil {
		return nil, err
	}
	info, _, err := s.find(r, id)
	return info, err
}

// microagentInfo is a skill of a conversation's project as the contract has it.
type microagentInfo struct {
	Name     string   `json:"name"`
	Type     string   `json:"type"` // repo or knowledge
	Content  string   `json:"content"`
	Triggers []string `json:"triggers"`
	Inputs   []any    `json:"inputs"`
	Tools    []string `json:"tools"`
}

func (s *Service) microagents(w http.ResponseWriter, r *http.Request) error {
	files, _, err := s.files(r, "")
	if err != nil {
		return err
	}
	defer files.Close()
	found, _, err := files.Skills(r.Context())
	if err != nil {
		return err
	}
	out := []microagentInfo{}
	for _, k := range found {
		one := microagentInfo{Name: k.Name, Type: "repo", Content: k.Content, Triggers: []string{}, Inputs: []any{}, Tools: []string{}}
		if k.Trigger != nil {
			one.Type, one.Triggers = "knowledge", append(one.Triggers, k.Trigger.Words...)
		}
		out = append(out, one)
	}
	return rest.JSON(w, http.StatusOK, map[string]any{"microagents": out})
}
