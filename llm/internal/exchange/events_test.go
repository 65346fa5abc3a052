package exchange_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm/internal/exchange"
)

func readEvents(r io.Reader) ([]string, error) {
	e := exchange.NewEvents(r)
	var out []string
	for {
		data, err := e.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, string(data))
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100_000)
	for name, c := range map[string]struct {
		in   string
		want []string
	}{
		"two":                  {"data: a\n\ndata: b\n\n", []string{"a", "b"}},
		"crlf":                 {"data: a\r\n\r\ndata: b\r\n\r\n", []string{"a", "b"}},
		"joined lines":         {"data: a\ndata: b\n\n", []string{"a\nb"}},
		"no space":             {"data:a\n\n", []string{"a"}},
		"only one space goes":  {"data:  a\n\n", []string{" a"}},
		"other fields":         {"event: x\nid: 1\n: ping\ndata: a\nretry: 3\n\n", []string{"a"}},
		"event without data":   {"event: x\n\ndata: a\n\n", []string{"a"}},
		"empty data":           {"data:\n\n", []string{""}},
		"field without colon":  {"data\n\n", []string{""}},
		"name begins with it":  {"database: x\ndata: a\n\n", []string{"a"}},
		"cut off at the end":   {"data: a\n\ndata: b", []string{"a", "b"}},
		"line beyond a buffer": {"data: " + long + "\n\ndata: b\n\n", []string{long, "b"}},
		"nothing":              {"", nil},
		"byte order mark":      {"\ufeffdata: a\n\ndata: \ufeffb\n\n", []string{"a", "\ufeffb"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := readEvents(strings.NewReader(c.in))
			must.Succeed(t, err)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEventsPassOnErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	got, err := readEvents(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), brokenReader{broken}))
	if !errors.Is(err, broken) || len(got) != 1 {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := readEvents(endless{}); !errors.Is(err, exchange.ErrEventTooLarge) {
		t.Errorf("an endless line: %v", err)
	}
}

type brokenReader struct{ err error }

func (b brokenReader) Read([]byte) (int, error) { return 0, b.err }

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte("data: a\n\nevent: x\r\ndata: b\ndata\n\n"))
	f.Add([]byte(": c\n\n\n\ndata:"))
	f.Fuzz(func(t *testing.T, in []byte) {
		whole, err := readEvents(bytes.NewReader(in))
		must.Succeed(t, err)
		// However the bytes arrive, the events are the same.
		single, err := readEvents(oneByte{bytes.NewReader(in)})
		must.Succeed(t, err)
		if diff := cmp.Diff(whole, single); diff != "" {
			t.Error(diff)
		}
	})
}

type oneByte struct{ r io.Reader }

func (o oneByte) Read(p []byte) (int, error) { return o.r.Read(p[:min(1, len(p))]) }
