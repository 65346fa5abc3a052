package remote

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/runtime/protocol"
)

// connect makes a connection of its own and posts body to path, which turns the
// connection to another protocol. It returns a reader of the rest of the answer, and
// the answer's header.
func (r *Runtime) connect(ctx context.Context, path, proto string, body []byte) (net.Conn, *bufio.Reader, http.Header, error) {
	ctx, done := r.while(ctx)
	defer done()
	conn, err := r.dial(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, nil, nil, r.left(ctx)
		}
		return nil, nil, nil, fault.Wrap(err, fault.Unavailable, "the action server cannot be reached")
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	in, header, err := upgrade(conn, path, proto, body)
	if !stop() {
		return nil, nil, nil, r.left(ctx)
	}
	if err != nil {
		conn.Close()
		return nil, nil, nil, err
	}
	return conn, in, header, nil
}

func lost(err error) error {
	return fault.Wrap(err, fault.Unavailable, "the connection to the action server was lost")
}

func upgrade(conn net.Conn, path, proto string, body []byte) (*bufio.Reader, http.Header, error) {
	req, err := http.NewRequest(http.MethodPost, host+path, bytes.NewReader(body)) //nolint:noctx // the caller closes the connection
	if err != nil {
		return nil, nil, lost(err)
	}
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", proto)
	if err := req.Write(conn); err != nil {
		return nil, nil, lost(err)
	}
	in := bufio.NewReaderSize(conn, 32<<10)
	resp, err := http.ReadResponse(in, req)
	if err != nil {
		return nil, nil, lost(err)
	}
	if resp.StatusCode == http.StatusSwitchingProtocols && strings.EqualFold(resp.Header.Get("Upgrade"), proto) {
		return in, resp.Header, nil // the connection stays, and the answer has no body
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxEnd))
	if err != nil {
		return nil, nil, lost(err)
	}
	var line protocol.Line
	if err := json.Unmarshal(raw, &line); err != nil || line.Error == nil {
		return nil, nil, fault.New(fault.Corrupt, "the action server answered with HTTP status "+resp.Status)
	}
	return nil, nil, line.Error.Err()
}
