package socket

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/coder/websocket"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/server/agentserver/bash"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/tool"
)

// terminalPlan is the terminal that a client wants: a new one, or one that is open.
type terminalPlan struct {
	id     string
	offset int64
	size   tool.PTYSpec
}

// terminal is Deft's own: the reference has no pseudo terminals.
func (s *Service) terminal(w http.ResponseWriter, r *http.Request) error {
	q := rest.QueryOf(r)
	p := plan{style: terminal}
	p.terminal.id = q.String("terminal", "")
	p.terminal.offset = int64(q.Int("offset", 0, 0, 1<<53))
	p.terminal.size = tool.PTYSpec{
		Rows: q.Int("rows", 24, 1, tool.MaxPTYSize), Cols: q.Int("cols", 80, 1, tool.MaxPTYSize),
	}
	return s.open(w, r, q, p)
}

// terminalFrame is a text frame about a terminal, in either direction. Input and
// output are binary frames.
type terminalFrame struct {
	Type     string `json:"type"`
	Terminal string `json:"terminal,omitempty"`  // opened
	Offset   *int64 `json:"offset,omitempty"`    // opened
	Rows     int    `json:"rows,omitempty"`      // resize
	Cols     int    `json:"cols,omitempty"`      // resize
	ExitCode *int   `json:"exit_code,omitempty"` // exited
	Code     string `json:"code,omitempty"`      // error
	Detail   string `json:"detail,omitempty"`    // error
}

// maxInput bounds a frame of input in bytes.
const maxInput = 1 << 20

// serveTerminal connects a client to a terminal in its conversation's sandbox.
func (s *Service) serveTerminal(ctx context.Context, cancel func(), l *link, p plan) {
	c, err := s.o.Find(ctx, p.id)
	if err != nil {
		l.end(endOf(err))
		return
	}
	defer c.Watch(func(session.Transient) {})() // it stays loaded
	all, err := c.Terminals(ctx)
	if err != nil {
		endTerminal(l, err)
		return
	}
	id := p.terminal.id
	if id == "" {
		opened, err := all.OpenPTY(ctx, p.terminal.size)
		if err != nil {
			endTerminal(l, err)
			return
		}
		id = opened.ID
	}
	conn, err := all.AttachPTY(ctx, id, p.terminal.offset)
	if err != nil {
		endTerminal(l, err)
		return
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })() // input may wait for the program
	first := conn.Offset()
	if l.frame(terminalFrame{Type: "opened", Terminal: id, Offset: &first}) != nil {
		return
	}
	l.ws.SetReadLimit(maxInput)
	done := make(chan struct{})
	go func() {
		defer close(done)
		sendOutput(ctx, l, conn)
	}()
	readTerminal(ctx, l, all, id, conn)
	cancel()
	_ = conn.Close() // the sender ends
	l.unblock()
	<-done
}

// endTerminal says why there is no terminal any more, and closes the socket.
func endTerminal(l *link, err error) {
	if l.frame(errorFrame(err)) != nil {
		return
	}
	switch fault.KindOf(err) {
	case fault.NotFound, fault.Conflict:
		l.shut(4004, "")
	case fault.Unavailable, fault.RateLimit:
		l.shut(websocket.StatusTryAgainLater, "")
	default:
		l.shut(websocket.StatusInternalError, "")
	}
}

func errorFrame(err error) terminalFrame {
	return terminalFrame{Type: "error", Code: string(fault.KindOf(err)), Detail: err.Error()}
}

// frame sends a text frame.
func (l *link) frame(f terminalFrame) error {
	raw, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return l.sendText(raw)
}

// binaryHeader appends the first bytes of a binary frame of n bytes.
func binaryHeader(b []byte, n int) []byte {
	b = header(b, n)
	b[0] = opBinary
	return b
}

// sendOutput sends the terminal's output until it has ended.
func sendOutput(ctx context.Context, l *link, conn tool.PTYConn) {
	piece := make([]byte, 32<<10)
	for {
		n, err := conn.Read(piece)
		if n > 0 {
			var h [10]byte
			if l.send(net.Buffers{binaryHeader(h[:0], n), piece[:n]}) != nil {
				_ = conn.Close()
				_ = l.Conn.Close() // the reader ends
				return
			}
		}
		switch {
		case err == nil:
			continue
		case ctx.Err() != nil:
			l.shut(websocket.StatusGoingAway, "")
			return
		case errors.Is(err, io.EOF):
			code := conn.ExitCode()
			_ = l.frame(terminalFrame{Type: "exited", ExitCode: &code}) // the client may have left
			l.shut(websocket.StatusNormalClosure, "")
		default:
			endTerminal(l, err)
		}
		return
	}
}

// readTerminal handles the frames of a client until the connection ends.
func readTerminal(ctx context.Context, l *link, all tool.PTYs, id string, conn tool.PTYConn) {
	for {
		typ, b, err := l.ws.Read(context.Background()) // ends with the connection
		if err != nil {
			return
		}
		if typ == websocket.MessageBinary {
			// Input that came too late is no failure: the program may have ended with the input
			// before. If the connection was lost, the output's end says so.
			if _, err = conn.Write(b); fault.Is(err, fault.Unavailable) {
				continue
			}
		} else if !isAuth(b) {
			err = controlTerminal(ctx, l, all, id, b)
		}
		if err != nil && (ctx.Err() != nil || l.frame(errorFrame(err)) != nil) {
			return
		}
	}
}

// controlTerminal carries out a text frame.
func controlTerminal(ctx context.Context, l *link, all tool.PTYs, id string, b []byte) error {
	var f terminalFrame
	if err := json.Unmarshal(b, &f); err != nil {
		return fault.Wrap(err, fault.Invalid, "the frame is not the JSON it should be")
	}
	switch f.Type {
	case "resize":
		return all.ResizePTY(ctx, id, f.Rows, f.Cols)
	case "close":
		l.shut(websocket.StatusNormalClosure, "")
		return all.ClosePTY(ctx, id)
	}
	return fault.New(fault.Invalid, fmt.Sprintf("there is no frame of type %.50q: resize and close are", f.Type))
}

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

// terminalRoutes list and close terminals without being connected to one, such as
// terminals of closed pages. They are Deft's own.
func (s *Service) terminalRoutes() []rest.Route {
	const all = "/api/conversations/{conversation_id}/terminals"
	return []rest.Route{
		{Method: http.MethodGet, Path: all, Tag: "Conversations", Hidden: true, Scope: rest.Sandbox, Handle: s.listTerminals},
		{Method: http.MethodDelete, Path: all + "/{terminal_id}", Tag: "Conversations", Hidden: true, Scope: rest.Sandbox, Handle: s.closeTerminal},
	}
}

// terminals returns the terminals of the conversation that a path names.
func (s *Service) terminals(r *http.Request) (tool.PTYs, error) {
	hex, err := rest.PathUUID(r, "conversation_id")
	if err != nil {
		return nil, err
	}
	id, _ := event.ParseConversationID(hex) // 32 digits
	c, err := s.o.Find(r.Context(), id)
	if fault.Is(err, fault.NotFound) {
		return nil, rest.Fail(http.StatusNotFound, "Conversation not found: "+string(id))
	}
	if err != nil {
		return nil, err
	}
	return c.Terminals(r.Context())
}

func (s *Service) listTerminals(w http.ResponseWriter, r *http.Request) error {
	all, err := s.terminals(r)
	if err != nil {
		return err
	}
	list, err := all.ListPTYs(r.Context())
	if err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, list)
}

func (s *Service) closeTerminal(w http.ResponseWriter, r *http.Request) error {
	all, err := s.terminals(r)
	if err == nil {
		err = all.ClosePTY(r.Context(), r.PathValue("terminal_id"))
	}
	if err != nil {
		return err
	}
	return rest.OK(w)
}
