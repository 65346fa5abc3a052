package socketio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// conn is one connection.
type conn struct {
	h  *Handler
	ws *websocket.Conn
	r  *http.Request

	// Reads and writes under way when the session ends go on until its close frame is
	// sent or closeTimeout has passed: the library drops a connection without a close
	// frame when the context of one of them ends.
	transport context.Context
	drop      context.CancelFunc
}

// Why a connection ends, beside the errors of the transport.
var (
	errDisconnected = errors.New("the client has disconnected")
	errNoConnect    = errors.New("the client did not connect to a namespace")
	errSilent       = errors.New("the client does not answer")
	errDone         = errors.New("the session is over")
)

// closeTimeout is how long the close of a connection may take.
const closeTimeout = 500 * time.Millisecond

// serve serves the connection until it ends.
func (c *conn) serve() {
	o := c.h.o
	// The request's values, such as who sends it, are the session's; its end is not.
	values := context.WithoutCancel(c.r.Context())
	c.transport, c.drop = context.WithCancel(values)
	defer c.drop()
	ctx, cancel := context.WithCancelCause(values)
	defer context.AfterFunc(c.h.ctx, func() { cancel(context.Cause(c.h.ctx)) })()
	closed := make(chan struct{})
	context.AfterFunc(ctx, func() {
		defer close(closed)
		c.end(context.Cause(ctx))
	})
	var wg sync.WaitGroup
	defer func() {
		cancel(nil)
		wg.Wait()
		<-closed
	}()

	hello, err := json.Marshal(map[string]any{
		"sid": newID(), "upgrades": []string{}, "pingInterval": o.PingEvery.Milliseconds(),
		"pingTimeout": o.PingTimeout.Milliseconds(), "maxPayload": o.MaxMessage,
	})
	if err != nil || c.write(ctx, append([]byte{engineOpen}, hello...)) != nil {
		return
	}
	late := time.AfterFunc(o.ConnectTimeout, func() { cancel(errNoConnect) })
	defer late.Stop()
	silent := time.AfterFunc(o.PingEvery+o.PingTimeout, func() { cancel(errSilent) })
	defer silent.Stop()
	stopPings := c.ping(ctx, cancel)
	defer stopPings()

	read := reader{ctx: c.transport, ws: c.ws, seen: func() { silent.Reset(o.PingEvery + o.PingTimeout) }}
	session, err := c.connect(ctx, &read)
	late.Stop()
	if err != nil {
		cancel(err)
		return
	}
	wg.Go(func() {
		err := session.Run(ctx, c.emit(ctx))
		switch {
		case err == nil:
			err = errDone
		case ctx.Err() == nil:
			o.Log.Warn("a Socket.IO session ended with an error", "err", err)
		}
		cancel(err)
	})
	cancel(c.events(ctx, &read, session))
}

// end closes the connection as its cause says. A client connects again, unless it is
// told to be disconnected.
func (c *conn) end(cause error) {
	stuck := time.AfterFunc(closeTimeout, c.drop)
	defer stuck.Stop()
	code, reason := websocket.StatusGoingAway, ""
	switch {
	case errors.Is(cause, errDone):
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.h.ctx), closeTimeout)
		defer cancel()
		if c.ws.Write(ctx, websocket.MessageText, []byte{engineMessage, typeDisconnect}) != nil {
			return
		}
		code = websocket.StatusNormalClosure
	case errors.Is(cause, errDisconnected):
		code = websocket.StatusNormalClosure
	case errors.Is(cause, errPacket), errors.Is(cause, errBinary), errors.Is(cause, errNoConnect):
		code, reason = websocket.StatusPolicyViolation, cause.Error()
	}
	_ = c.ws.Close(code, reason) // the client may be gone
}

// connect waits for the client to connect to the default namespace.
func (c *conn) connect(ctx context.Context, r *reader) (Session, error) {
	for {
		p, err := r.next()
		if err != nil {
			return nil, err
		}
		if p.typ != typeConnect {
			return nil, errNoConnect
		}
		if p.namespace != "/" {
			if err := c.write(ctx, namespaceError(p.namespace)); err != nil {
				return nil, err
			}
			continue
		}
		session, err := c.h.o.Connect(c.r.WithContext(ctx))
		if err != nil {
			return nil, errors.Join(errDisconnected, c.write(ctx, frame(nil, typeConnectError, c.h.refusal(err))))
		}
		return session, c.write(ctx, frame(nil, typeConnect, []byte(`{"sid":"`+newID()+`"}`)))
	}
}

func namespaceError(name string) []byte {
	b := []byte{engineMessage, typeConnectError}
	return append(append(b, name...), `,{"message":"Invalid namespace"}`...)
}

// events passes the client's events on until it disconnects.
func (c *conn) events(ctx context.Context, r *reader, session Session) error {
	for {
		p, err := r.next()
		if err != nil {
			return err
		}
		switch {
		case p.namespace != "/":
			return fmt.Errorf("%w of the namespace %.60q", errPacket, p.namespace)
		case p.typ == typeDisconnect:
			return errDisconnected
		case p.typ != typeEvent: // the server asks for no acknowledgements
			return errPacket
		}
		name, args, err := p.event()
		if err != nil {
			return err
		}
		session.Event(ctx, c.emit(ctx), name, args)
		if p.id != nil {
			if err := c.write(ctx, frame(nil, typeAck, append(strconv.AppendUint(nil, *p.id, 10), '[', ']'))); err != nil {
				return err
			}
		}
	}
}

// emit returns the function by which a session sends.
func (c *conn) emit(ctx context.Context) Emit {
	return func(name string, arg []byte) error { return c.write(ctx, eventFrame(name, arg)) }
}

// write sends a frame, within the time limit. It begins none once ctx has ended.
func (c *conn) write(ctx context.Context, b []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.transport, c.h.o.WriteTimeout)
	defer cancel()
	return c.ws.Write(ctx, websocket.MessageText, b)
}

// ping sends pings until the returned function is called.
func (c *conn) ping(ctx context.Context, cancel context.CancelCauseFunc) (stop func()) {
	var mu sync.Mutex
	stopped := false
	var timer *time.Timer
	timer = time.AfterFunc(c.h.o.PingEvery, func() {
		if err := c.write(ctx, []byte{enginePing}); err != nil {
			cancel(err)
		}
		mu.Lock()
		defer mu.Unlock()
		if !stopped {
			timer.Reset(c.h.o.PingEvery)
		}
	})
	return func() {
		mu.Lock()
		defer mu.Unlock()
		stopped = true
		timer.Stop()
	}
}

// reader reads the packets of a client.
type reader struct {
	ctx  context.Context
	ws   *websocket.Conn
	seen func() // is called for each frame
}

// next returns the next Socket.IO packet.
func (r *reader) next() (packet, error) {
	for {
		typ, b, err := r.ws.Read(r.ctx)
		if err != nil {
			return packet{}, err
		}
		r.seen()
		if typ != websocket.MessageText {
			return packet{}, errBinary
		}
		if len(b) == 0 {
			return packet{}, errPacket
		}
		switch b[0] {
		case engineMessage:
			return parsePacket(b[1:])
		case enginePong:
		case engineClose:
			return packet{}, errDisconnected
		default:
			return packet{}, errPacket
		}
	}
}
