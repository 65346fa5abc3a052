package historycache_test

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/internal/historycache"
)

func TestTools(t *testing.T) {
	t.Parallel()
	var kept historycache.Tools
	written := 0
	write := func(dst []byte, tool *llm.Tool) ([]byte, error) {
		written++
		return append(historycache.AppendString(dst, tool.Name), tool.Parameters...), nil
	}
	list := func(n int) []llm.Tool {
		return []llm.Tool{{Name: fmt.Sprint(n), Parameters: []byte("{}")}, {Name: "x", Parameters: []byte("[]")}}
	}
	steps := []struct{ list, written int }{{1, 2}, {1, 0}}
	for n := 2; n <= 16; n++ {
		steps = append(steps, struct{ list, written int }{n, 2})
	}
	steps = append(steps, struct{ list, written int }{1, 0}, struct{ list, written int }{17, 2}, // drives out the second
		struct{ list, written int }{1, 0}, struct{ list, written int }{2, 2})
	for _, tt := range steps {
		written = 0
		parts, err := kept.Parts([]byte("a"), "<", ">", list(tt.list), write)
		got := bytes.Join(parts, nil)
		if want := fmt.Sprintf(`a<["%d"{},"x"[]]>`, tt.list); err != nil || string(got) != want || written != tt.written {
			t.Errorf("list %d: %s, %d written, want %s, %d; %v", tt.list, got, written, want, tt.written, err)
		}
	}
	// A schema that the caller changes in place is another one.
	tools := list(9)
	for _, want := range []string{`["9"{},"x"[]]`, `["9"[],"x"[]]`} {
		parts, _ := kept.Parts(nil, "", "", tools, write)
		if got := bytes.Join(parts, nil); string(got) != want {
			t.Errorf("got %s, want %s", got, want)
		}
		copy(tools[0].Parameters, "[]")
	}
	broken := errors.New("broken")
	if parts, err := kept.Parts([]byte("a"), "<", ">", nil, write); err != nil || string(bytes.Join(parts, nil)) != "a" {
		t.Errorf("no tools: %s, %v", parts, err)
	}
	if _, err := kept.Parts(nil, "", "", list(99), func(dst []byte, _ *llm.Tool) ([]byte, error) { return dst, broken }); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}

// TestToolsByForm checks that only models with the same form share encoded
// tools.
func TestToolsByForm(t *testing.T) {
	t.Parallel()
	tools := []llm.Tool{{Name: "x"}}
	for _, c := range []struct {
		protocol string
		strict   bool
		text     string
		want     string
	}{
		{"a", false, "1", "[1]"}, {"b", false, "2", "[2]"}, {"a", true, "3", "[3]"},
		{"a", false, "4", "[1]"}, {"b", false, "5", "[2]"}, {"a", true, "6", "[3]"},
	} {
		parts, err := historycache.ToolsIn(t.Name()+c.protocol, c.strict).Parts(nil, "", "", tools, func(dst []byte, _ *llm.Tool) ([]byte, error) {
			return append(dst, c.text...), nil
		})
		got := bytes.Join(parts, nil)
		if err != nil || string(got) != c.want {
			t.Errorf("%s, strict %v: %s, want %s; %v", c.protocol, c.strict, got, c.want, err)
		}
	}
}

func TestToolsConcurrently(t *testing.T) {
	t.Parallel()
	var kept historycache.Tools
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := range 200 {
				name := fmt.Sprint((worker + i) % 6)
				parts, err := kept.Parts(nil, "", "", []llm.Tool{{Name: name}}, func(dst []byte, tool *llm.Tool) ([]byte, error) {
					return append(dst, tool.Name...), nil
				})
				got := bytes.Join(parts, nil)
				if err != nil || string(got) != "["+name+"]" {
					t.Errorf("got %s, %v", got, err)
				}
			}
		})
	}
	wg.Wait()
}
