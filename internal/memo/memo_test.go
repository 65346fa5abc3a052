package memo_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/deft-dev/deft/internal/memo"
)

func TestGet(t *testing.T) {
	t.Parallel()
	m := memo.New[string, string](2)
	broken := errors.New("broken")
	for i, c := range []struct {
		key  string
		err  error
		made bool
	}{
		{"a", nil, true}, {"a", nil, false},
		{"b", broken, true}, {"b", nil, true}, {"b", nil, false}, {"a", nil, false},
		{"c", nil, true}, {"c", nil, false}, {"a", nil, true}, // a third one drives the others out
	} {
		made := false
		got, err := m.Get(c.key, func() (string, error) { made = true; return "<" + c.key + ">", c.err })
		if !errors.Is(err, c.err) || made != c.made || err == nil && got != "<"+c.key+">" {
			t.Errorf("%d: Get(%q) = %q, %v, made %v", i, c.key, got, err, made)
		}
	}
}

func TestConcurrently(t *testing.T) {
	t.Parallel()
	m := memo.New[int, string](3)
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := range 500 {
				n := (worker + i) % 5
				got, err := m.Get(n, func() (string, error) { return fmt.Sprint(n), nil })
				if err != nil || got != fmt.Sprint(n) {
					t.Errorf("Get(%d) = %q, %v", n, got, err)
				}
			}
		})
	}
	wg.Wait()
}
