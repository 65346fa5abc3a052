package agentserver

import (
	"errors"
	"net/http"
)

// suspend answers when everything is stored and nothing runs, so that the sandbox
// of the server can be paused: runs are interrupted, and commands of clients in
// conversations ended, as at the reference. All work again when they are used.
func (s *services) suspend(w http.ResponseWriter, r *http.Request) error {
	if err := errors.Join(s.sessions.Load().Suspend(r.Context()), s.scopes.Close()); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
