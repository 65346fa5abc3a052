package rest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Serve serves on l, with TLS if s is configured for it, until ctx ends. Then it calls
// stopping, unless that is nil, and gives requests under way some time to end. It closes l.
func Serve(ctx context.Context, s *http.Server, l net.Listener, grace time.Duration, stopping func() error) error {
	failed := make(chan error, 1)
	go func() {
		if s.TLSConfig != nil {
			failed <- s.ServeTLS(l, "", "")
			return
		}
		failed <- s.Serve(l)
	}()
	var err error
	select {
	case err = <-failed:
		failed <- http.ErrServerClosed
		err = fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	if stopping != nil {
		err = errors.Join(err, stopping())
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if stopped := s.Shutdown(end); stopped != nil { // clients that do not read have had their time
		err = errors.Join(err, s.Close())
	}
	if stopped := <-failed; !errors.Is(stopped, http.ErrServerClosed) {
		err = errors.Join(err, stopped)
	}
	return err
}
