package executionserver

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

// endTime is how long requests under way have to end.
const endTime = 5 * time.Second

// Serve serves on l until ctx ends, and closes both the listener and the server: running
// actions are interrupted and answered.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	web := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 5 * time.Minute, MaxHeaderBytes: 64 << 10}
	defer context.AfterFunc(ctx, func() { _ = l.Close() })() // which ends Serve
	err := web.Serve(l)
	if ctx.Err() != nil {
		err = nil
	}
	err = errors.Join(err, s.Close())
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	if web.Shutdown(end) != nil { // clients that do not read have had their time
		err = errors.Join(err, web.Close())
	}
	return err
}
