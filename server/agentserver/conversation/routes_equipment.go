package conversation

import (
	"encoding/json"
	"net/http"

	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/skill"
)

// equipment lists an agent's tools, skills and servers, as the web app shows them.
type equipment struct {
	Tools    []toolShown  `json:"tools"`
	Skills   []skill.Info `json:"skills"`
	Warnings []string     `json:"warnings"`
}

type toolShown struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"` // a JSON schema
}

// getQuestions is Deft's own: other clients word themselves what waits for the user.
func (s *Service) getQuestions(w http.ResponseWriter, r *http.Request) error {
	c, err := s.conversation(r)
	if err != nil {
		return err
	}
	asked, err := c.Questions(r.Context())
	if err != nil {
		return worded(err)
	}
	return rest.JSON(w, http.StatusOK, map[string]any{"questions": asked})
}

// getEquipment is Deft's own: the reference names the tools in the events only, without
// their schemas.
func (s *Service) getEquipment(w http.ResponseWriter, r *http.Request) error {
	c, err := s.conversation(r)
	if err != nil {
		return err
	}
	got, err := c.Equipment(r.Context())
	if err != nil {
		return worded(err)
	}
	out := equipment{Tools: []toolShown{}, Skills: []skill.Info{}, Warnings: append([]string{}, got.Warnings...)}
	for _, t := range got.Tools {
		out.Tools = append(out.Tools, toolShown{t.Name, t.Description, t.Parameters})
	}
	for _, k := range got.Skills {
		out.Skills = append(out.Skills, k.Info())
	}
	return rest.JSON(w, http.StatusOK, out)
}
