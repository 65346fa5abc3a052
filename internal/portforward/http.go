package portforward

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/cookies"
)

// A browser has one set of cookies for all ports of a host, so those of `deft serve` on this
// machine would reach the program in the sandbox, which belongs to the agent, and it could set
// them. Requests and answers of HTTP/1 pass without them; everything else passes as it is, but
// TLS, whose requests cannot be seen. HTTP/2 without TLS passes when a client begins with it, as
// gRPC does; no browser does, and requests of HTTP/1 that ask for it do not get it. An
// address of its own (127.0.0.2) has no cookies of Deft's, and nothing is looked at there.

// maxHeader bounds a line of a request's header.
const maxHeader = 1 << 20

var errHeader = errors.New("the header of a request cannot be read")

// separate reports whether a connection came to an address that no server of Deft has.
func separate(conn net.Conn) bool {
	at, err := netip.ParseAddrPort(conn.LocalAddr().String())
	a := at.Addr().Unmap()
	return err == nil && a.IsLoopback() && a.Is4() && a != netip.AddrFrom4([4]byte{127, 0, 0, 1})
}

// errTLS is the refusal of a connection.
func errTLS(conn net.Conn) error {
	_, port, _ := net.SplitHostPort(conn.LocalAddr().String()) // it is one
	return fault.New(fault.Denied, "a TLS connection to "+conn.LocalAddr().String()+" was refused: a browser could send the cookies of deft serve in it").
		Hint("name an address of its own: 127.0.0.2:" + port + ":PORT")
}

// step takes the next bytes and says how many it took, and which step takes the rest.
type step func(f *messages, p []byte) (n int, next step, err error)

// messages is a writer that passes the bytes of one direction on, without Deft's cookies in
// requests or answers of HTTP/1.
type messages struct {
	out   io.Writer
	next  step
	first step     // of a message
	asked *methods // of the requests without an answer
	code  int      // of an answer
	tls   error    // returned for the start of TLS
	any   bool     // something was written
	// line is the start and the end of a request's first line, or a whole line of a header.
	line    []byte
	cookie  bool  // lines that continue the one before are left out
	chunked bool  // the body is in chunks
	sized   bool  // its length is given
	length  int64 // of the body that is left
}

// newRequests passes a client's requests on, and newAnswers the answers to them.
func newRequests(out io.Writer, asked *methods, tls error) *messages {
	return &messages{out: out, first: first, asked: asked, tls: tls}
}

func newAnswers(out io.Writer, asked *methods) *messages {
	return &messages{out: out, first: status, asked: asked}
}

// methods are the methods of requests: answers' bodies depend on them.
type methods struct {
	mu  sync.Mutex
	all []string
}

func (m *methods) add(method string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all = append(m.all, method)
}

// take returns the oldest; "" for an answer that nobody asked for.
func (m *methods) take() (method string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.all) > 0 {
		method, m.all = m.all[0], m.all[1:]
	}
	return method
}

// Write implements [io.Writer].
func (f *messages) Write(p []byte) (int, error) {
	if !f.any && len(p) > 0 {
		f.any, f.next = true, f.first
		if f.tls != nil && p[0] == 0x16 { // a handshake record, RFC 8446 section 5.1
			return 0, f.tls
		}
	}
	done := 0
	for done < len(p) {
		n, next, err := f.next(f, p[done:])
		done, f.next = done+n, next
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

func (f *messages) pass(p []byte, next step) (int, step, error) {
	n, err := f.out.Write(p)
	return n, next, err
}

// raw passes everything on.
func raw(f *messages, p []byte) (int, step, error) { return f.pass(p, raw) }

// first passes the first line of a request on and finds out whether it is one. After a request
// that asks for another protocol the server may stay with HTTP: what follows is looked at, too.
// No frame of a WebSocket begins like a request (RFC 6455 section 5.2).
func first(f *messages, p []byte) (int, step, error) {
	return f.start(p, first, func(line string) bool {
		method, version, _ := strings.Cut(line, " ")
		at := strings.LastIndexByte(version, ' ')
		if !strings.HasPrefix(version[at+1:], "HTTP/1.") || strings.Trim(method, token) != "" {
			return false
		}
		f.asked.add(method)
		return true
	})
}

// status does so for an answer. Browsers take it for one in small letters, behind some other
// bytes, and with the name of an old server, too.
func status(f *messages, p []byte) (int, step, error) {
	const before = 4 // bytes
	return f.start(p, status, func(line string) bool {
		line = strings.ToLower(line)
		for _, name := range []string{"http", "icy"} {
			if at := strings.Index(line, name); at >= 0 && at <= before {
				_, code, _ := strings.Cut(line[at:], " ")
				code, _, _ = strings.Cut(strings.TrimLeft(code, " "), " ")
				n, err := strconv.Atoi(code)
				if err != nil || n < 100 {
					n = 200
				}
				f.code = n
				return true
			}
		}
		return false
	})
}

// start passes the first line of a message on. whole says whether it is one.
func (f *messages) start(p []byte, same step, whole func(line string) bool) (int, step, error) {
	const kept = 32 // of the start and of the end
	end := bytes.IndexByte(p, '\n')
	if end < 0 {
		end = len(p) - 1
	}
	f.line = append(f.line, p[:end+1]...)
	if len(f.line) > 2*kept {
		f.line = append(f.line[:kept], f.line[len(f.line)-kept:]...)
	}
	next := same
	if p[end] == '\n' {
		line := strings.TrimRight(string(f.line), "\r\n")
		f.line = f.line[:0]
		switch {
		case line == "": // servers pass over empty lines before a request
		case whole(line):
			// A line that continues none is left out.
			f.cookie, f.chunked, f.sized, f.length = true, false, false, 0
			next = header
		default:
			next = raw
		}
	}
	return f.pass(p[:end+1], next)
}

// token are the characters of a request's method (RFC 9110 section 5.6.2).
const token = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// header passes the lines of a header on, each when it is whole.
func header(f *messages, p []byte) (int, step, error) { return f.fields(p, header, f.body) }

// trailer does so with the lines after the last chunk.
func trailer(f *messages, p []byte) (int, step, error) {
	return f.fields(p, trailer, func() step { return f.first })
}

// fields passes lines on until an empty one, after which it asks for the next step.
func (f *messages) fields(p []byte, same step, last func() step) (int, step, error) {
	end := bytes.IndexByte(p, '\n')
	if end < 0 {
		end = len(p) - 1
	}
	f.line = append(f.line, p[:end+1]...)
	switch {
	case len(f.line) > maxHeader:
		return end + 1, same, errHeader
	case p[end] != '\n':
		return end + 1, same, nil
	}
	line := string(f.line)
	f.line = f.line[:0]
	next, text := same, strings.TrimRight(line, "\r\n")
	if text == "" {
		next = last()
	} else if line = f.field(text, line); f.length < 0 {
		return end + 1, same, errHeader
	}
	_, err := io.WriteString(f.out, line)
	return end + 1, next, err
}

// field returns the line that is passed on for one of a header.
func (f *messages) field(text, line string) string {
	if parts := strings.Split(text, "\r"); len(parts) > 1 { // some browsers see lines there
		for _, part := range parts {
			if f.field(part, part) != part {
				return ""
			}
		}
		return line
	}
	if text[0] == ' ' || text[0] == '\t' { // it continues the line before
		if f.cookie {
			return ""
		}
		return line
	}
	name, value, _ := strings.Cut(text, ":")
	value, f.cookie = strings.TrimSpace(value), false
	switch strings.ToLower(strings.TrimSpace(name)) {
	case "cookie":
		f.cookie = true
		kept := cookies.Strip(value)
		if kept == "" {
			return ""
		}
		return "Cookie: " + kept + "\r\n"
	case "set-cookie":
		// A continuation could hold the name.
		if name, _, _ := strings.Cut(value, "="); strings.TrimSpace(name) == "" || cookies.Sets(value) {
			f.cookie = true
			return ""
		}
	case "upgrade": // a program that goes over to HTTP/2 would get requests that nothing is taken out of
		f.cookie = true
		kept := slices.DeleteFunc(strings.Split(value, ","), func(protocol string) bool {
			protocol = strings.TrimSpace(protocol)
			return protocol == "" || strings.EqualFold(protocol, "h2c")
		})
		if len(kept) == 0 {
			return ""
		}
		return name + ": " + strings.TrimSpace(strings.Join(kept, ",")) + "\r\n"
	case "content-length":
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			n = -1
		}
		f.length, f.sized = n, true
	case "transfer-encoding":
		f.chunked = true
	}
	return line
}

// body is the step after a header.
func (f *messages) body() step {
	answer, method := f.code > 0, ""
	if answer && (f.code >= 200 || f.code == 101) { // the final one
		method = f.asked.take()
	}
	switch {
	case f.code == 101, answer && method == "CONNECT" && f.code/100 == 2:
		return raw
	case answer && (method == "HEAD" || f.code < 200 || f.code == 204 || f.code == 304):
		return f.first
	case f.chunked:
		return chunk
	case f.length > 0:
		return body
	case answer && !f.sized:
		return raw // until the connection ends
	}
	return f.first
}

// body passes a body on, or a chunk of one with its line end.
func body(f *messages, p []byte) (int, step, error) {
	n := int(min(int64(len(p)), f.length))
	f.length -= int64(n)
	next := body
	if f.length == 0 {
		next = f.first
		if f.chunked {
			next = chunk
		}
	}
	return f.pass(p[:n], next)
}

// chunk passes the line with the length of a chunk on.
func chunk(f *messages, p []byte) (int, step, error) {
	return f.eachLine(p, chunk, func(line string) (step, error) {
		size, _, _ := strings.Cut(line, ";")
		n, err := strconv.ParseInt(strings.TrimSpace(size), 16, 62)
		if err != nil || n < 0 {
			return nil, errHeader
		}
		if n == 0 {
			return trailer, nil
		}
		f.length = n + int64(len("\r\n"))
		return body, nil
	})
}

// eachLine passes a line on, and asks for the next step when it is whole.
func (f *messages) eachLine(p []byte, same step, whole func(line string) (step, error)) (int, step, error) {
	end := bytes.IndexByte(p, '\n')
	if end < 0 {
		end = len(p) - 1
	}
	f.line = append(f.line, p[:end+1]...)
	next := same
	if p[end] == '\n' {
		line := strings.TrimRight(string(f.line), "\r\n")
		f.line = f.line[:0]
		var err error
		if next, err = whole(line); err != nil {
			return 0, same, err
		}
	} else if len(f.line) > maxHeader {
		return 0, same, errHeader
	}
	return f.pass(p[:end+1], next)
}
