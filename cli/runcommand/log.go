package runcommand

import (
	"context"
	"log/slog"
	"strings"
)

// Log returns a logger whose warnings and errors the view shows.
func (v *View) Log() *slog.Logger { return slog.New(logHandler{v: v}) }

// logHandler shows a record in a line: the message, and the values of its
// attributes that are not the conversation, which the user sees anyway.
type logHandler struct {
	v     *View
	attrs []slog.Attr
}

// Enabled implements [slog.Handler].
func (h logHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

// Handle implements [slog.Handler].
func (h logHandler) Handle(_ context.Context, r slog.Record) error {
	parts := []string{"warning: " + r.Message}
	add := func(a slog.Attr) bool {
		if a.Key != "conversation" {
			parts = append(parts, safeText(strings.ReplaceAll(a.Value.String(), "\n", "; ")))
		}
		return true
	}
	for _, a := range h.attrs {
		add(a)
	}
	r.Attrs(add)
	h.v.Warn(strings.Join(parts, ": "))
	return nil
}

// WithAttrs implements [slog.Handler].
func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logHandler{h.v, append(h.attrs[:len(h.attrs):len(h.attrs)], attrs...)}
}

// WithGroup implements [slog.Handler].
func (h logHandler) WithGroup(string) slog.Handler { return h }
