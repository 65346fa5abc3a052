package rawjson_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/rawjson"
)

type inner struct {
	Dir  string `json:"dir"`
	Kind string `json:"kind"`
}

type common struct {
	Inner inner           `json:"inner"`
	Count int             `json:"count"`
	On    bool            `json:"on"`
	Raw   json.RawMessage `json:"raw"`
	Left  json.RawMessage `json:"left,omitempty"`
}

type document struct {
	ID string `json:"id"`
	common
	Title  *string           `json:"title"`
	Parent *string           `json:"parent,omitempty"`
	Cost   float64           `json:"cost,omitempty"`
	Parts  []json.RawMessage `json:"parts"`
	Names  map[string]string `json:"names"`
	Few    []string          `json:"few,omitempty"`
	At     time.Time         `json:"at,omitzero"`
	In     inner             `json:"in,omitzero"`
}

// TestEncode compares documents with encoding/json's.
func TestEncode(t *testing.T) {
	t.Parallel()
	title := "a \"title\" <&> é\nline"
	for name, v := range map[string]any{
		"empty": document{},
		"full": document{
			ID: `/a"b`, common: common{Inner: inner{Dir: "<a>", Kind: "k"}, Count: 7, On: true, Raw: json.RawMessage(`{"a":1}`), Left: json.RawMessage(`[]`)},
			Title: &title, Parent: &title, Cost: 1.5, Parts: []json.RawMessage{json.RawMessage(`{"a":1}`)},
			Names: map[string]string{"b": "c", "a": "<d>"}, Few: []string{"<a>"}, At: time.Unix(1, 0).UTC(), In: inner{Kind: "é"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, err := rawjson.Marshal(v)
			must.Succeed(t, err)
			got, err := rawjson.Encode(v)
			if err != nil || string(got) != string(want) {
				t.Errorf("got  %s\nwant %s\n%v", got, want, err)
			}
		})
	}
	if _, err := rawjson.Encode(struct {
		C chan int `json:"c"`
	}{make(chan int)}); err == nil {
		t.Error("no error for what has no JSON")
	}
}
