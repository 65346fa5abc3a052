package conversation

import (
	"net/http"

	"github.com/deft-dev/deft/internal/agentserver/rest"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/session"
)

func (s *Service) postTitle(w http.ResponseWriter, r *http.Request) error {
	req := struct {
		MaxLength int `json:"max_length"`
	}{MaxLength: session.TitleLength}
	if err := rest.OptionalBody(r, &req); err != nil {
		return err
	}
	if req.MaxLength < 1 || req.MaxLength > 200 {
		return schema.Invalid("max_length must be between 1 and 200", req.MaxLength, "body", "max_length")
	}
	c, err := s.conversation(r)
	if err != nil {
		return err
	}
	title, err := c.GenerateTitle(r.Context(), req.MaxLength)
	if err != nil {
		return worded(err)
	}
	return rest.JSON(w, http.StatusOK, map[string]string{"title": title})
}
