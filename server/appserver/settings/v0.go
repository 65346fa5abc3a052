package settings

import (
	"errors"
	"net/http"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/rest"
)

// v0 is [Service.user] with errors as OpenHands 0.62 has them: {"error": …}
// (docs/openhands/app-server-v0.md section 4.1).
func (s *Service) v0(h handler) rest.Handler {
	answer := s.user(h)
	return func(w http.ResponseWriter, r *http.Request) error {
		err := answer(w, r)
		if err == nil || errors.Is(err, rest.ErrBroken) {
			return err
		}
		if _, bad := errors.AsType[schema.Violations](err); bad {
			return err
		}
		status := fault.KindOf(err).HTTPStatus()
		if own, ok := errors.AsType[*rest.Error](err); ok {
			status = own.Status
		}
		if status >= http.StatusInternalServerError {
			s.o.Log.Error("a request about settings failed", "path", r.URL.Path, "err", err)
		}
		return rest.JSON(w, status, map[string]string{"error": err.Error()})
	}
}

func resetV0(w http.ResponseWriter, _ *http.Request) error {
	return rest.JSON(w, http.StatusGone, map[string]string{"error": "Reset settings functionality has been removed."})
}

func (u user) getV0(w http.ResponseWriter, r *http.Request) error {
	v, err := u.configured(r.Context(), hidden)
	if err != nil {
		return err
	}
	m, err := v.flat()
	if err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, m)
}

func (u user) postV0(w http.ResponseWriter, r *http.Request) error {
	body, err := object(r)
	if err != nil {
		return err
	}
	if err := u.change(r.Context(), body, false); err != nil {
		return err
	}
	return done(w, "Settings stored")
}
