package schema_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/schema"
)

// TestMap tries objects of all sizes around the one from which keys are
// looked up in another way.
func TestMap(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 2, 127, 128, 129, 130, 500} {
		m, want := schema.NewMap(), []string{}
		for i := range n {
			m.Set(fmt.Sprint("k", i), i)
			want = append(want, fmt.Sprint("k", i))
		}
		if !slices.Equal(m.Keys(), want) {
			t.Errorf("%d keys: %v", n, m.Keys())
		}
		before, kept := m.Copy(), m.Keys()
		for i := 0; i < n; i += 2 {
			m.Delete(fmt.Sprint("k", i))
			m.Set(fmt.Sprint("k", i+1), -i)
		}
		m.Delete("absent")
		m.Set("new", nil)
		if before.Len() != n || len(kept) != n || n > 1 && kept[1] != "k1" {
			t.Errorf("%d keys: the copy has %d, who asked before sees %v", n, before.Len(), kept)
		}
		for i := range n {
			key := fmt.Sprint("k", i)
			if v := before.Get(key); v != i {
				t.Errorf("%d keys: %s of the copy is %v", n, key, v)
			}
			if v, ok := m.Lookup(key); ok != (i%2 == 1) || ok && v != 1-i {
				t.Errorf("%d keys: %s is %v, %v", n, key, v, ok)
			}
		}
		if v, ok := m.Lookup("new"); v != nil || !ok {
			t.Errorf("%d keys: null is %v, %v", n, v, ok)
		}
	}
	var none *schema.Map
	none.Delete("a")
	if c := none.Copy(); none.Len() != 0 || none.Get("a") != nil || c.Len() != 0 {
		t.Error("nil is not an empty object")
	}
}

func TestMergeAndNulls(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ base, patch, want string }{
		{`{"a":1,"b":2}`, `{"b":null,"c":3,"d":null}`, `{"a":1,"c":3}`},
		{`{"a":{"x":1,"y":2},"b":1}`, `{"b":{"z":null},"a":{"x":null,"n":1}}`, `{"a":{"y":2,"n":1},"b":{"z":null}}`},
		{`{"a":{"x":1}}`, `{"a":[null]}`, `{"a":[null]}`},
		{`{}`, `{"a":{"x":null}}`, `{"a":{"x":null}}`},
	} {
		if got := text(t, schema.Merge(object(t, c.base), object(t, c.patch))); got != c.want {
			t.Errorf("%s and %s: %s, want %s", c.base, c.patch, got, c.want)
		}
	}
	for in, want := range map[string]string{
		`{"a":null,"b":[null,{"c":null,"d":0}],"e":{"f":null},"g":""}`: `{"b":[null,{"d":0}],"e":{},"g":""}`,
	} {
		if got := text(t, schema.WithoutNulls(object(t, in))); got != want {
			t.Errorf("%s without nulls: %s, want %s", in, got, want)
		}
	}
}

func object(t *testing.T, raw string) *schema.Map {
	t.Helper()
	m := schema.NewMap()
	must.Succeed(t, m.UnmarshalJSON([]byte(raw)))
	return m
}

func text(t *testing.T, v any) string {
	t.Helper()
	raw, err := schema.Encode(v)
	must.Succeed(t, err)
	return string(raw)
}
