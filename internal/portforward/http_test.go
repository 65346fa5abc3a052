package portforward_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/portforward"
)

// recorder is a program that keeps its input and answers nothing.
type recorder struct {
	got  bytes.Buffer
	done chan struct{}
	once sync.Once
}

func (r *recorder) Read([]byte) (int, error)    { <-r.done; return 0, io.EOF }
func (r *recorder) Write(b []byte) (int, error) { return r.got.Write(b) }
func (r *recorder) CloseWrite() error           { return r.Close() }
func (r *recorder) Close() error                { r.once.Do(func() { close(r.done) }); return nil }

// sent is the part of a client's request to an address that a program gets; the client sends it in pieces.
func sent(t *testing.T, address, text string, piece int) (got string, refused error) {
	t.Helper()
	l, err := net.Listen("tcp", address+":0")
	must.Succeed(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	program := &recorder{done: make(chan struct{})}
	served := make(chan error, 1)
	go func() {
		served <- portforward.Serve(ctx, l, func(context.Context) (portforward.Target, error) { return program, nil }, func(err error) { refused = err })
	}()
	conn, err := net.Dial("tcp", l.Addr().String())
	must.Succeed(t, err)
	for len(text) > 0 {
		n := min(piece, len(text))
		if _, err := io.WriteString(conn, text[:n]); err != nil {
			break // it was refused
		}
		text = text[n:]
	}
	_ = conn.(*net.TCPConn).CloseWrite()
	_, _ = io.ReadAll(conn) // until the program, or the refusal, has closed it
	conn.Close()
	cancel()
	must.Report(t, <-served)
	return program.got.String(), refused
}

// TestCookiesStay: a program in a sandbox gets no cookie of a server of Deft's, whatever is
// sent on the connection before.
func TestCookiesStay(t *testing.T) {
	t.Parallel()
	get := "GET /" + strings.Repeat("long", 200) + " HTTP/1.1\r\nHost: 127.0.0.1:8000\r\nCookie: deft_session=SECRET\r\naccept: */*\r\n\r\n"
	clean := strings.Replace(get, "Cookie: deft_session=SECRET\r\n", "", 1)
	for name, c := range map[string][2]string{
		"a request":           {get, clean},
		"others stay":         {"GET / HTTP/1.1\r\ncookie: a=1; deft_session=SECRET; __Host-deft_session=SECRET; oh_workspace_session_key=SECRET; b=2\r\n\r\n", "GET / HTTP/1.1\r\nCookie: a=1; b=2\r\n\r\n"},
		"many requests":       {get + get + "\r\n" + get, clean + clean + "\r\n" + clean},
		"after a body":        {"POST / HTTP/1.1\r\nContent-Length: 11\r\n\r\nCookie: x\r\n" + get, "POST / HTTP/1.1\r\nContent-Length: 11\r\n\r\nCookie: x\r\n" + clean},
		"after chunks":        {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\na\nb\r\nA\r\n0123456789\r\n0\r\nT: 1\r\n\r\n" + get, "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\na\nb\r\nA\r\n0123456789\r\n0\r\nT: 1\r\n\r\n" + clean},
		"in lines":            {"GET / HTTP/1.1\nCookie: a=1;\n deft_session=SECRET\nA: b\n c\n\n", "GET / HTTP/1.1\nCookie: a=1\r\nA: b\n c\n\n"},
		"an old request":      {"GET / HTTP/1.0\r\nCookie : deft_session=SECRET\r\n\r\n", "GET / HTTP/1.0\r\n\r\n"},
		"a socket":            {"GET / HTTP/1.1\r\nUpgrade: websocket\r\nCookie: deft_session=SECRET\r\n\r\n\x81\x05GET / HTTP/1.1\r\nCookie: of the page\r\n", "GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n\x81\x05GET / HTTP/1.1\r\nCookie: of the page\r\n"},
		"a refused socket":    {"GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n" + get + get, "GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n" + clean + clean},
		"HTTP/2 later":        {"POST / HTTP/1.1\r\nUpgrade: h2c\r\nContent-Length: 3\r\n\r\nabc" + get, "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc" + clean},
		"HTTP/2 or a socket":  {"GET / HTTP/1.1\r\nUpgrade: H2C , websocket\r\nA: b\r\n\r\n" + get, "GET / HTTP/1.1\r\nUpgrade: websocket\r\nA: b\r\n\r\n" + clean},
		"HTTP/2 in lines":     {"GET / HTTP/1.1\r\nupgrade :\r\n h2c\r\nA: b\r\n\r\n" + get, "GET / HTTP/1.1\r\nA: b\r\n\r\n" + clean},
		"HTTP/2 at once":      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00"},
		"a refused tunnel":    {"CONNECT a:1 HTTP/1.1\r\n\r\n" + get, "CONNECT a:1 HTTP/1.1\r\n\r\n" + clean},
		"a compressed socket": {"GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\nA\x85mask HTTP/1.1\r\nCookie: deft_session=of the page\r\n", "GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\nA\x85mask HTTP/1.1\r\nCookie: deft_session=of the page\r\n"},
		"in trailers":         {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nCookie: deft_session=SECRET\r\nT: 1\r\nCOOKIE : a=1;\r\n deft_session=SECRET\r\n\r\n" + get, "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nT: 1\r\nCookie: a=1\r\n\r\n" + clean},
		"another protocol":    {"hello", "hello"},
		"lines of another":    {"PING\r\nCookie: deft_session=x\r\n", "PING\r\nCookie: deft_session=x\r\n"},
		"binary":              {"\x00\x00\x00\x08\x04\xd2\x16\x2f\n GET / HTTP/1.1", "\x00\x00\x00\x08\x04\xd2\x16\x2f\n GET / HTTP/1.1"},
		"a length that is no": {"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n" + get, "POST / HTTP/1.1\r\n"},
	} {
		for _, piece := range []int{1, 7, 1 << 20} {
			got, refused := sent(t, "127.0.0.1", c[0], piece)
			if d := cmp.Diff(c[1], got); d != "" || refused != nil || strings.Contains(got, "SECRET") {
				t.Errorf("%s in pieces of %d: %v (-want +got):\n%s", name, piece, refused, d)
			}
		}
	}
}

// program answers each request on a connection.
type program struct {
	asked bytes.Buffer
	text  string
	piece int
	ready chan struct{}
	once  sync.Once
}

func (p *program) Read(to []byte) (int, error) {
	<-p.ready
	if p.text == "" {
		return 0, io.EOF
	}
	n := copy(to, p.text[:min(p.piece, len(p.text))])
	p.text = p.text[n:]
	return n, nil
}
func (p *program) Write(b []byte) (int, error) { return p.asked.Write(b) }
func (p *program) CloseWrite() error           { p.once.Do(func() { close(p.ready) }); return nil }
func (p *program) Close() error                { return p.CloseWrite() }

// got is the part of a program's answer that a client gets.
func got(t *testing.T, address, request, answer string, piece int) string {
	t.Helper()
	l, err := net.Listen("tcp", address+":0")
	must.Succeed(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	p := &program{text: answer, piece: piece, ready: make(chan struct{})}
	served := make(chan error, 1)
	go func() {
		served <- portforward.Serve(ctx, l, func(context.Context) (portforward.Target, error) { return p, nil }, func(error) {})
	}()
	conn, err := net.Dial("tcp", l.Addr().String())
	must.Succeed(t, err)
	_, err = io.WriteString(conn, request)
	must.Succeed(t, err)
	must.Succeed(t, conn.(*net.TCPConn).CloseWrite())
	raw, err := io.ReadAll(conn)
	must.Succeed(t, err)
	conn.Close()
	cancel()
	must.Report(t, <-served)
	return string(raw)
}

// TestCookiesAreNotSet: a program sets no cookie of a server of Deft's, whatever it answers before.
func TestCookiesAreNotSet(t *testing.T) {
	t.Parallel()
	const get, head = "GET / HTTP/1.1\r\n\r\n", "HEAD / HTTP/1.1\r\n\r\n"
	const evil = "Set-Cookie: deft_session=EVIL; Path=/\r\n"
	const answer, clean = "HTTP/1.1 200 OK\r\n" + evil + "Content-Length: 2\r\n\r\nok", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	for name, c := range map[string][3]string{
		"an answer":          {get, answer, clean},
		"others stay":        {get, "HTTP/1.1 302 Found\r\nSet-Cookie: a=1\r\nset-cookie : __Host-deft_session=EVIL\r\n; Path=/\r\nSet-Cookie: b=2;\r\n Path=/\r\n\r\n", "HTTP/1.1 302 Found\r\nSet-Cookie: a=1\r\n; Path=/\r\nSet-Cookie: b=2;\r\n Path=/\r\n\r\n"},
		"without a name":     {get, "HTTP/1.1 200 OK\r\nSet-Cookie: =deft_session=EVIL\r\nSet-Cookie: =\r\n deft_session=EVIL\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n"},
		"folded":             {get, "HTTP/1.1 200 OK\r\n Set-Cookie: deft_session=EVIL\r\nSet-Cookie:\r\n\tdeft_session=EVIL\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n"},
		"in one line":        {get, "HTTP/1.1 200 OK\r\nA: b\rSet-Cookie: deft_session=EVIL\r\nA: b\rC: d\r\n\r\n", "HTTP/1.1 200 OK\r\nA: b\rC: d\r\n\r\n"},
		"odd first lines":    {get, "xx\thttp/1.1  200\n" + evil + "\n", "xx\thttp/1.1  200\n\n"},
		"after another":      {get + get, answer + answer, clean + clean},
		"after a HEAD":       {head + get, "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" + answer, "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" + clean},
		"after a hint":       {get, "HTTP/1.1 103 Early Hints\r\n" + evil + "\r\n" + answer, "HTTP/1.1 103 Early Hints\r\n\r\n" + clean},
		"after nothing new":  {get + get, "HTTP/1.1 304 Not Modified\r\nContent-Length: 50\r\n\r\n" + answer, "HTTP/1.1 304 Not Modified\r\nContent-Length: 50\r\n\r\n" + clean},
		"after chunks":       {get + get, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n" + evil + "\r\n" + answer, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n" + clean},
		"a body stays":       {get, "HTTP/1.1 200 OK\r\n\r\n" + evil + "HTTP/1.1 200 OK\r\n" + evil, "HTTP/1.1 200 OK\r\n\r\n" + evil + "HTTP/1.1 200 OK\r\n" + evil},
		"a body of a length": {get, "HTTP/1.1 200 OK\r\nContent-Length: 39\r\n\r\n" + evil + answer, "HTTP/1.1 200 OK\r\nContent-Length: 39\r\n\r\n" + evil + clean},
		"a socket":           {get, "HTTP/1.1 101 Switching Protocols\r\n" + evil + "\r\n" + answer, "HTTP/1.1 101 Switching Protocols\r\n\r\n" + answer},
		"another protocol":   {"hello", "SSH-2.0-x\r\n" + evil, "SSH-2.0-x\r\n" + evil},
	} {
		for _, piece := range []int{1, 7, 1 << 20} {
			if d := cmp.Diff(c[2], got(t, "127.0.0.1", c[0], c[1], piece)); d != "" {
				t.Errorf("%s in pieces of %d (-want +got):\n%s", name, piece, d)
			}
		}
	}
	if g := got(t, "127.0.0.2", get, answer, 100); g != answer {
		t.Errorf("at an address of its own: %q", g)
	}
}

// TestTLS: requests in TLS cannot be seen, so it is passed on where no cookie of Deft's
// servers is sent.
func TestTLS(t *testing.T) {
	t.Parallel()
	const hello = "\x16\x03\x01\x00\x05hello"
	got, refused := sent(t, "127.0.0.1", hello, 100)
	if got != "" || !fault.Is(refused, fault.Denied) || !strings.Contains(fault.HintOf(refused), "127.0.0.2:") {
		t.Errorf("%q, %v", got, refused)
	}
	raw := hello + "GET / HTTP/1.1\r\nCookie: deft_session=x\r\n\r\n"
	if got, refused := sent(t, "127.0.0.2", raw, 100); got != raw || refused != nil {
		t.Errorf("at an address of its own: %q, %v", got, refused)
	}
}

// TestLongHeader: a line without an end takes bounded memory.
func TestLongHeader(t *testing.T) {
	t.Parallel()
	got, _ := sent(t, "127.0.0.1", "GET / HTTP/1.1\r\nA: "+strings.Repeat("x", 2<<20), 1<<20)
	if want := "GET / HTTP/1.1\r\n"; got != want {
		t.Errorf("the program got %s bytes", strconv.Itoa(len(got)))
	}
}
