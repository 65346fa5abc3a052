package socket

import (
	"context"
	"fmt"

	"github.com/coder/websocket"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/server/agentserver/bash"
)

// serveShell serves a connection that follows the events of shell commands.
func (s *Service) serveShell(ctx context.Context, cancel func(), l *link, p plan) {
	from := bash.FromNow
	if p.all {
		from = bash.FromStart
	}
	f, err := s.o.Bash.Subscribe(from)
	if err != nil {
		e := endOf(err)
		if fault.Is(err, fault.Unavailable) {
			e.reason = "Too many bash event connections"
		}
		l.end(e)
		return
	}
	defer f.Close()
	write := func(ctx context.Context) {
		for {
			raw, err := f.Next(ctx)
			if err != nil {
				l.shut(websocket.StatusGoingAway, "")
				return
			}
			if l.sendText(clean(raw)) != nil {
				_ = l.Conn.Close() // the reader ends
				return
			}
		}
	}
	s.talk(ctx, cancel, l, p, write, s.command)
}

// command starts the command of an ExecuteBashRequest.
func (s *Service) command(_ context.Context, b []byte) error {
	req, err := bash.ParseRequest(b)
	if err != nil {
		return err
	}
	if _, err := s.o.Bash.Start(req); err != nil {
		return fmt.Errorf("start a command: %w", err)
	}
	return nil
}
