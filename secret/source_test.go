package secret_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/secret"
)

// TestForms holds the JSON to the output of openhands-sdk 1.58 for the same
// registry.
func TestForms(t *testing.T) {
	t.Parallel()
	const in = `{"A":"x","B":{"kind":"StaticSecret","value":"v","description":"d"},
		"C":{"kind":"LookupSecret","url":"/api/settings/secrets/N","headers":{"X-Session-API-Key":"k","Accept":"a","Authorization":"  "}}}`
	all, err := secret.ParseMap([]byte(in), secret.ParseOptions{})
	must.Succeed(t, err)
	const url = `"url":"http://127.0.0.1:8000/api/settings/secrets/N"`
	for form, want := range map[secret.Form]string{
		secret.Masked: `{"A":{"description":null,"value":"**********","kind":"StaticSecret"},"B":{"description":"d","value":"**********","kind":"StaticSecret"},"C":{"description":null,` + url + `,"headers":{"Accept":"a","X-Session-API-Key":"**********"},"kind":"LookupSecret"}}`,
		secret.Event:  `{"A":{"value":"**********","kind":"StaticSecret"},"B":{"description":"d","value":"**********","kind":"StaticSecret"},"C":{` + url + `,"headers":{"Accept":"a","X-Session-API-Key":"**********"},"kind":"LookupSecret"}}`,
		secret.Null:   `{"A":{"description":null,"value":null,"kind":"StaticSecret"},"B":{"description":"d","value":null,"kind":"StaticSecret"},"C":{"description":null,` + url + `,"headers":{"Accept":"a"},"kind":"LookupSecret"}}`,
		secret.Plain:  `{"A":{"description":null,"value":"x","kind":"StaticSecret"},"B":{"description":"d","value":"v","kind":"StaticSecret"},"C":{"description":null,` + url + `,"headers":{"Accept":"a","X-Session-API-Key":"k"},"kind":"LookupSecret"}}`,
	} {
		got, err := secret.AppendMap(nil, all, form, nil)
		if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
			t.Errorf("form %d: %v (-want +got):\n%s", form, err, diff)
		}
	}
	ring := keyring.New("key")
	sealed, err := secret.AppendMap(nil, all, secret.Sealed, ring)
	if err != nil || strings.Contains(string(sealed), `"k"`) || strings.Contains(string(sealed), `"v"`) {
		t.Fatalf("sealed: %s, %v", sealed, err)
	}
	back, err := secret.ParseMap(sealed, secret.ParseOptions{Ring: ring})
	must.Succeed(t, err)
	plain, _ := secret.AppendMap(nil, back, secret.Plain, nil)
	want, _ := secret.AppendMap(nil, all, secret.Plain, nil)
	if diff := cmp.Diff(string(want), string(plain)); diff != "" {
		t.Errorf("sealed and opened (-want +got):\n%s", diff)
	}
	if _, err := secret.AppendMap(nil, all, secret.Sealed, nil); fault.KindOf(err) != fault.Unsupported {
		t.Errorf("sealed without a ring: %v", err)
	}
	// A token that is read without a ring and written with one is not sealed twice.
	tokens, err := secret.ParseMap(sealed, secret.ParseOptions{})
	must.Succeed(t, err)
	if again, err := secret.AppendMap(nil, tokens, secret.Sealed, ring); err != nil || string(again) != string(sealed) {
		t.Errorf("sealed twice: %v\n%s", err, again)
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	other, _ := keyring.New("other").Seal([]byte("v"))
	o := secret.ParseOptions{Server: "http://localhost:9/", Ring: keyring.New("key")}
	for in, want := range map[string]string{
		`"abc"`:                                                `{"description":null,"value":"abc","kind":"StaticSecret"}`,
		`{"value":"abc","description":"lost"}`:                 `{"description":null,"value":"abc","kind":"StaticSecret"}`,
		`{"value":null}`:                                       `{"description":null,"value":null,"kind":"StaticSecret"}`,
		`"**********"`:                                         `{"description":null,"value":null,"kind":"StaticSecret"}`,
		`{"kind":"StaticSecret","value":" \n"}`:                `{"description":null,"value":null,"kind":"StaticSecret"}`,
		`{"kind":"StaticSecret","foo":1}`:                      `{"description":null,"value":null,"kind":"StaticSecret"}`,
		`{"kind":"StaticSecret","value":"` + other + `"}`:      `{"description":null,"value":null,"kind":"StaticSecret"}`,
		`{"kind":"LookupSecret","url":""}`:                     `{"description":null,"url":"http://localhost:9/","headers":{},"kind":"LookupSecret"}`,
		`{"kind":"LookupSecret","url":"foo/bar"}`:              `{"description":null,"url":"http://localhost:9/foo/bar","headers":{},"kind":"LookupSecret"}`,
		`{"kind":"LookupSecret","url":"http://x","value":"z"}`: `{"description":null,"url":"http://x","headers":{},"kind":"LookupSecret"}`,
		`{"kind":"LookupSecret","url":"http://x","headers":{"key":"` + other + `","cookie":"**********","a":""}}`: `{"description":null,"url":"http://x","headers":{"a":"","key":"` + other + `"},"kind":"LookupSecret"}`,
	} {
		s, err := secret.Parse([]byte(in), o)
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		got, err := s.Append(nil, secret.Plain, nil)
		if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", in, err, diff)
		}
	}
	for in, want := range map[string]string{
		`{"kind":"X"}`:                      "Unknown kind 'X' for openhands.sdk.secret.secrets.SecretSource; Expected one of: ['LookupSecret', 'StaticSecret']",
		`{}`:                                "Unknown kind ''",
		`{"kind":null,"value":"x"}`:         "Unknown kind ''",
		`null`:                              "Input should be an object",
		`[]`:                                "Input should be an object",
		``:                                  "Input should be an object",
		`"\x"`:                              "not JSON",
		`{"kind":"StaticSecret","value":1}`: "value: Input should be a valid string",
		`{"kind":"LookupSecret"}`:           "url: Field required",
		`{"kind":"LookupSecret","url":"x","headers":[1]}`: "headers: Input should be a valid dictionary",
	} {
		_, err := secret.Parse([]byte(in), o)
		if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", in, err)
		}
	}
	// A secret that no key opens has no value, and is stored again unchanged.
	kept, err := secret.Parse([]byte(`"`+other+`"`), o)
	if err != nil || kept.Value != "" {
		t.Errorf("another's: %v, %v", kept, err)
	}
	for form, want := range map[secret.Form]string{secret.Sealed: `"` + other + `"`, secret.Plain: "null", secret.Masked: "null"} {
		if got, err := kept.Append(nil, form, o.Ring); err != nil || string(got) != `{"description":null,"value":`+want+`,"kind":"StaticSecret"}` {
			t.Errorf("another's in form %d: %s, %v", form, got, err)
		}
	}
}

func TestParseMap(t *testing.T) {
	t.Parallel()
	all, err := secret.ParseMap([]byte(`{"z":"1","a":"2","z":"3"}`), secret.ParseOptions{})
	want := []secret.Named{{Name: "z", Source: secret.Static("3", "")}, {Name: "a", Source: secret.Static("2", "")}}
	if diff := cmp.Diff(want, all); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if all, err := secret.ParseMap([]byte(`null`), secret.ParseOptions{}); err != nil || all != nil {
		t.Errorf("null: %v, %v", all, err)
	}
	for _, bad := range []string{``, `[]`, `"x"`, `{"a":1}`, `{"a":"x"`, `{"a"`, `{"a":{"kind":"X"}}`, `{`} {
		if _, err := secret.ParseMap([]byte(bad), secret.ParseOptions{}); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestPrintsNoValue prints sources in every way that a log or an error might.
func TestPrintsNoValue(t *testing.T) {
	t.Parallel()
	s := secret.Source{Kind: secret.KindLookup, Value: "hush", URL: "http://h", Headers: map[string]string{"token": "hush"}}
	n := secret.Named{Name: "N", Source: s}
	holder := struct {
		S secret.Source
		P *secret.Named
		L []secret.Named
	}{s, &n, []secret.Named{n}}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("m", "s", s, "n", n, "h", holder)
	slog.New(slog.NewTextHandler(&log, nil)).Info("m", "s", s, "n", n, "h", holder)
	b, err := json.Marshal(holder)
	must.Succeed(t, err)
	shown := log.String() + string(b)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		shown += fmt.Sprintf(verb+verb+verb, s, n, holder)
	}
	if strings.Contains(shown, "hush") || strings.Contains(shown, fmt.Sprintf("%x", "hush")) {
		t.Errorf("a value is shown:\n%s", shown)
	}
}

func FuzzParseMap(f *testing.F) {
	for _, s := range []string{`{"A":"x"}`, `{"C":{"kind":"LookupSecret","url":"%","headers":{"key":"k"}}}`, `{"a":{"value":"**********"}}`, `null`} {
		f.Add([]byte(s))
	}
	ring := keyring.New("k")
	f.Fuzz(func(t *testing.T, raw []byte) {
		all, err := secret.ParseMap(raw, secret.ParseOptions{Ring: ring})
		if err != nil {
			return
		}
		sealed, err := secret.AppendMap(nil, all, secret.Sealed, ring)
		if err != nil || !json.Valid(sealed) {
			t.Fatalf("%s, %v", sealed, err)
		}
		unopened := func(n secret.Named) bool { return n.Source.Sealed != "" }
		back, err := secret.ParseMap(sealed, secret.ParseOptions{Ring: ring})
		if err != nil || slices.ContainsFunc(back, unopened) != slices.ContainsFunc(all, unopened) {
			t.Fatalf("what was written is not read: %v\n%s", err, sealed)
		}
	})
}
