package config

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/session/build"
)

// TestReference compares with the reference's configuration from the same
// variables and files. test/openapi/configs.py writes the data.
func TestReference(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/reference.json")
	must.Succeed(t, err)
	var data struct {
		Default map[string]any
		Cases   []struct {
			Variables map[string]string
			File      json.RawMessage
			Differs   map[string]any
		}
	}
	must.Succeed(t, json.Unmarshal(raw, &data))
	if len(data.Cases) < 40 {
		t.Fatalf("only %d cases", len(data.Cases))
	}
	for _, c := range data.Cases {
		environ := []string{"HOME=" + t.TempDir()}
		for name, value := range c.Variables {
			environ = append(environ, name+"="+value)
		}
		file := filepath.Join(t.TempDir(), "config.json")
		must.Succeed(t, os.WriteFile(file, c.File, 0o600))
		l, err := Load(environ, Flags{Config: file, Classes: build.StandardClasses().Sandboxes})
		if err != nil {
			t.Errorf("%v %s: %v", c.Variables, c.File, err)
			continue
		}
		got, _ := plain(reflect.ValueOf(*l.Config)).(map[string]any)
		delete(got, "max_concurrent_runs")
		want := maps.Clone(data.Default)
		maps.Copy(want, c.Differs)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%v %s (-reference +ours):\n%s", c.Variables, c.File, d)
		}
	}
}

// plain is a configuration as encoding/json would read it, with its secrets.
func plain(v reflect.Value) any {
	if s, ok := reflect.TypeAssert[llm.Secret](v); ok {
		return s.Reveal()
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return plain(v.Elem())
	case reflect.Struct:
		m := map[string]any{}
		for name, f := range fields(v.Type()) {
			m[name] = plain(v.FieldByIndex(f.Index))
		}
		return m
	case reflect.Slice:
		out := []any{}
		for i := range v.Len() {
			out = append(out, plain(v.Index(i)))
		}
		return out
	case reflect.Map:
		m := map[string]any{}
		for k, item := range v.Seq2() {
			m[k.String()] = plain(item)
		}
		return m
	case reflect.Int:
		return float64(v.Int())
	}
	return v.Interface()
}
