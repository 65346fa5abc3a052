package rest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/rest"
)

// TestClientLeaves: a request that ends because its client has left is no error of the
// server; one that fails by itself is, whoever has left.
func TestClientLeaves(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		err   error
		left  bool
		level string
	}{
		{"left", fmt.Errorf("run git: %w", context.Canceled), true, "INFO"},
		{"there", fmt.Errorf("run git: %w", context.Canceled), false, "ERROR"},
		{"broken", errors.New("the disk is broken"), true, "ERROR"},
	} {
		var log bytes.Buffer
		h, err := rest.New(rest.Options{
			Routes: []rest.Route{{Method: "GET", Path: "/x", Scope: rest.Public, Limit: rest.NoBody, Handle: func(http.ResponseWriter, *http.Request) error { return c.err }}},
			Keys:   func() []string { return nil }, Log: slog.New(slog.NewTextHandler(&log, nil)),
		})
		must.Succeed(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		if c.left {
			cancel()
		}
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", "/x", nil))
		cancel()
		if !strings.Contains(log.String(), "level="+c.level) {
			t.Errorf("%s: %s", c.name, log.String())
		}
	}
}
