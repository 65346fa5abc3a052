package portforward_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/portforward"
)

func TestParsePort(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"80":                `{"address":"127.0.0.1","local":80,"port":80}`,
		"8080:80":           `{"address":"127.0.0.1","local":8080,"port":80}`,
		"0:80":              `{"address":"127.0.0.1","local":0,"port":80}`,
		"0.0.0.0:8080:80":   `{"address":"0.0.0.0","local":8080,"port":80}`,
		"[::1]:8080:80":     `{"address":"::1","local":8080,"port":80}`,
		"0":                 "", // inside, it is none
		"":                  "",
		"80:0":              "",
		"70000":             "",
		"-1:80":             "",
		"80:":               "",
		":80":               "",
		"host:80:80":        "",
		"::1:8080:80":       "", // without brackets
		"[127.0.0.1]:80:80": "",
		"[::1:80:80":        "",
		"1.2.3.4:80":        "",
		"8080:80/udp":       "",
	} {
		var p portforward.Port
		err := p.UnmarshalText([]byte(text))
		if want == "" {
			if !fault.Is(err, fault.Invalid) || fault.HintOf(err) == "" {
				t.Errorf("%q: %v, %v", text, p, err)
			}
			continue
		}
		got, jerr := json.Marshal(p)
		if err != nil || jerr != nil {
			t.Errorf("%q: %v, %v", text, err, jerr)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// port returns the Port of a text.
func port(t *testing.T, text string) (p portforward.Port) {
	t.Helper()
	must.Succeed(t, p.UnmarshalText([]byte(text)))
	return p
}

// TestOpen opens ports together, each of which leads to its own.
func TestOpen(t *testing.T) {
	t.Parallel()
	open, err := portforward.Listen(t.Context(), []portforward.Port{port(t, "0:80"), port(t, "0:443")})
	must.Succeed(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() {
		served <- open.Serve(ctx, func(_ context.Context, port int) (portforward.Target, error) {
			return &answer{text: strconv.Itoa(port)}, nil
		}, func(err error) { t.Error(err) })
	}()
	for _, p := range open.Ports() {
		conn, err := net.Dial("tcp", net.JoinHostPort(p.Address.String(), strconv.Itoa(p.Local)))
		must.Succeed(t, err)
		got, err := io.ReadAll(conn)
		if err != nil || string(got) != strconv.Itoa(p.Port) {
			t.Errorf("%v: %q, %v", p, got, err)
		}
		conn.Close()
	}
	_, err = portforward.Listen(t.Context(), []portforward.Port{port(t, "0:80"), port(t, strconv.Itoa(open.Ports()[0].Local)+":81")})
	if !fault.Is(err, fault.Conflict) || fault.HintOf(err) == "" {
		t.Errorf("a port that is taken: %v", err)
	}
	cancel()
	must.Report(t, <-served)
}

// answer is a program that says something and closes.
type answer struct{ text string }

func (a *answer) Read(b []byte) (int, error) {
	if a.text == "" {
		return 0, io.EOF
	}
	n := copy(b, a.text)
	a.text = a.text[n:]
	return n, nil
}
func (a *answer) Write(b []byte) (int, error) { return len(b), nil }
func (a *answer) CloseWrite() error           { return nil }
func (a *answer) Close() error                { return nil }
