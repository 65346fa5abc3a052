package schema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/deft-dev/deft/schema"
)

var fitted = &schema.Object{Fields: []schema.Field{
	{Name: "name", Type: schema.Opt(schema.String{Max: 5})},
	{Name: "tags", Type: schema.Dict{Of: schema.String{}}},
	{Name: "inner", Type: schema.Opt(&schema.Object{Fields: []schema.Field{{Name: "ref", Type: schema.Opt(schema.String{Max: 5})}}})},
	{Name: "agent", Type: schema.Unread{}},
}}

// decoded is what encoding/json makes of a document of the form.
type decoded struct {
	Name  *string           `json:"name"`
	Tags  map[string]string `json:"tags"`
	Inner *struct {
		Ref *string `json:"ref"`
	} `json:"inner"`
	Agent json.RawMessage `json:"agent"`
}

// document is what was decoded in the normal form of what was looked at. Of the
// tags it has those of keys, in their order, and null for others.
func (d *decoded) document(keys []string) string {
	tags := schema.NewMap()
	for _, k := range keys {
		tags.Set(k, d.Tags[k])
	}
	m := schema.Of("name", plain(d.Name), "tags", nil, "inner", nil, "agent", nil)
	if len(d.Tags) == tags.Len() && d.Tags != nil {
		m.Set("tags", tags)
	}
	if d.Inner != nil {
		m.Set("inner", schema.Of("ref", plain(d.Inner.Ref)))
	}
	if len(d.Agent) > 0 && string(d.Agent) != "null" {
		m.Set("agent", d.Agent)
	}
	raw, err := schema.Encode(m)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

func TestFits(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	for raw, want := range map[string]string{
		"": "", "null": "", "{": "", " null ": "", // for the decoder
		"[]":             "model_attributes_type [body]",
		"[" + deep + "]": "value_error [body]",
		`{}`:             "",
		` { "name" : "a" , "x" : {"Name":[1,{"a":"]}"}]} , "tags":{"a":"b"}} `: "",
		`{"x":` + deep + `,"agent":` + deep + `,"y":-1.5e3,"name":"a"}`:        "",
		`{"x":` + deep + `,"name":"too long"}`:                                 "string_too_long [body name]",
		`{"name":` + deep + `}`:                                                "value_error [body name]",
		`{"Name":"too long"}`:                                                  "extra_forbidden [body Name]",
		`{"inner":{"Ref":"too long"}}`:                                         "extra_forbidden [body inner Ref]",
		`{"name":"a","name":"b"}`:                                              "value_error [body]",
		`{"x":1,"x":2}`:                                                        "value_error [body]",
		`{"tags":{"a":"b","a":"c"}}`:                                           "value_error [body tags]",
		`{"tags":{"a":"b","A":"c"}}`:                                           "",
		`{"inner":{"ref":"too long"},"inner":{}}`:                              "value_error [body]",
		`{"\u006eame":"too long"}`:                                             "string_too_long [body name]",
	} {
		_, err := fitted.Fits([]byte(raw), "body")
		got := ""
		if err != nil {
			first := err.(schema.Violations)[0] //nolint:errorlint // nothing else is said
			got = fmt.Sprint(first.Type, " ", first.Loc)
		}
		if got != want {
			t.Errorf("%.60s: %q, want %q", raw, got, want)
		}
	}
	m, err := fitted.Fits([]byte(`{"agent": {"a":[1]} ,"name":null}`), "body")
	if err != nil || string(m.Get("agent").(json.RawMessage)) != `{"a":[1]}` || m.Get("name") != nil {
		t.Errorf("%v %v", m, err)
	}
	if m, err = fitted.Fits([]byte(`{"agent":null}`), "body"); err != nil || m.Get("agent") != nil {
		t.Errorf("null is %v: %v", m.Get("agent"), err)
	}
}

// FuzzFits holds that the decoder sees what was looked at.
func FuzzFits(f *testing.F) {
	f.Add([]byte(`{"name":"a","tags":{"a":"b"},"inner":{"ref":"c"},"agent":[1]}`))
	f.Add([]byte(`{"ſ":1,"Name":"abcdef","inner":{"ref":"x"},"inner":{}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := fitted.Fits(raw, "body")
		if err != nil || m == nil {
			return
		}
		var d decoded
		if err := json.Unmarshal(raw, &d); err != nil {
			t.Fatalf("%q fits, and %v", raw, err)
		}
		if got := d.document(m.Object("tags").Keys()); got != encoded(t, m) {
			t.Errorf("%q is decoded as %s, looked at was %s", raw, got, encoded(t, m))
		}
	})
}

func plain(s *string) any {
	if s == nil {
		return nil
	}
	return *s
}

func encoded(t *testing.T, m *schema.Map) string {
	t.Helper()
	raw, err := schema.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
