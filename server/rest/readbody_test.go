package rest_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/rest"
)

// mirror answers with its input.
func mirror(t *testing.T, limit int64) *httptest.Server {
	t.Helper()
	h, err := rest.New(rest.Options{
		Keys: func() []string { return nil },
		Routes: []rest.Route{{Method: "POST", Path: "/mirror", Scope: rest.Account, Limit: limit, Handle: func(w http.ResponseWriter, r *http.Request) error {
			raw, err := rest.Raw(r)
			if err != nil {
				return err
			}
			return rest.Bytes(w, http.StatusOK, raw)
		}}},
	})
	must.Succeed(t, err)
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv
}

func TestRaw(t *testing.T) {
	t.Parallel()
	const mib, limit = 1 << 20, 5 << 20
	srv := mirror(t, limit)
	for _, size := range []int{0, 1, mib - 1, mib, mib + 1, 2 * mib, 3*mib + 7, limit, limit + 1, limit + mib} {
		for _, known := range []bool{true, false} {
			sent := bytes.Repeat([]byte("abcdefg"), size/7+1)[:size]
			r, err := http.NewRequestWithContext(t.Context(), "POST", srv.URL+"/mirror", io.NopCloser(bytes.NewReader(sent)))
			must.Succeed(t, err)
			if r.ContentLength = -1; known {
				r.ContentLength = int64(size)
			}
			r.Header.Set("Expect", "100-continue")
			resp, err := srv.Client().Do(r)
			if err != nil {
				if size <= limit {
					t.Errorf("%d bytes, announced %v: %v", size, known, err)
				}
				continue // the server closes on who does not stop
			}
			got, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			switch {
			case size > limit && resp.StatusCode != http.StatusRequestEntityTooLarge:
				t.Errorf("%d bytes, announced %v: %s", size, known, resp.Status)
			case size <= limit && (err != nil || !bytes.Equal(got, sent)):
				t.Errorf("%d bytes, announced %v: %s, %d bytes, %v", size, known, resp.Status, len(got), err)
			}
		}
	}
}

// TestRawCut holds that a body that was cut off is not taken for a whole one.
func TestRawCut(t *testing.T) {
	t.Parallel()
	srv := mirror(t, 0)
	for name, body := range map[string]string{
		"announced":      "Content-Length: 2000000\r\n\r\n" + strings.Repeat("x", 1_500_000),
		"announced less": "Content-Length: 2000\r\n\r\nxxx",
		"chunked":        fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", 1_500_000, strings.Repeat("x", 1_500_000)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := new(net.Dialer).DialContext(t.Context(), "tcp", srv.Listener.Addr().String())
			must.Succeed(t, err)
			defer c.Close()
			if _, err := io.WriteString(c, "POST /mirror HTTP/1.1\r\nHost: x\r\n"+body); err != nil {
				t.Fatal(err)
			}
			must.Succeed(t, c.(*net.TCPConn).CloseWrite())
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				return // closed without an answer
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusBadRequest {
				t.Errorf("answered %s", resp.Status)
			}
		})
	}
}

// TestDocumentNotUTF8: a body that is not UTF-8 is refused; a decoder would store
// other characters.
func TestDocumentNotUTF8(t *testing.T) {
	t.Parallel()
	for body, ok := range map[string]bool{`{"a":"ä"}`: true, "{\"a\":\"\xe4\"}": false, "\xff\xfe{}": false} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
		if _, _, err := rest.Document(r); (err == nil) != ok {
			t.Errorf("%q: %v", body, err)
		}
	}
}
