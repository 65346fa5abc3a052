package conversation

import (
	"net/http"

	"github.com/deft-dev/deft/server/agentserver/conversation/form"
	"github.com/deft-dev/deft/server/rest"
)

func (s *Service) postTitle(w http.ResponseWriter, r *http.Request) error {
	var req struct {
		MaxLength int `json:"max_length"`
	}
	if err := rest.ReadOptional(r, form.Title, &req); err != nil {
		return err
	}
	c, err := s.conversation(r)
	if err != nil {
		return err
	}
	title, err := c.Assistant().GenerateTitle(r.Context(), req.MaxLength)
	if err != nil {
		return worded(err)
	}
	return rest.JSON(w, http.StatusOK, map[string]string{"title": title})
}
