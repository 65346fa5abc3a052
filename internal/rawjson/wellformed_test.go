package rawjson_test

import (
	"testing"

	"github.com/deft-dev/deft/internal/rawjson"
)

func TestWellFormed(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"a":"plain \n ü \u00e9"}`:      `{"a":"plain \n ü \u00e9"}`,
		`{"a":"\ud83d\ude00"}`:           `{"a":"\ud83d\ude00"}`,
		`{"a":"A\ud99cB"}`:               `{"a":"A\ufffdB"}`,
		`{"a":"\uDE00\ud83d"}`:           `{"a":"\ufffd\ufffd"}`,
		`{"a":"\ud83d\ud83d\ude00"}`:     `{"a":"\ufffd\ud83d\ude00"}`,
		`{"a":"\\ud83d"}`:                `{"a":"\\ud83d"}`,
		`{"a":"\\\ud83d\\"}`:             `{"a":"\\\ufffd\\"}`,
		`{"a":"\ud83d\n"}`:               `{"a":"\ufffd\n"}`,
		`{"a":"\ud8`:                     `{"a":"\ud8`,
		``:                               ``,
		`{"\ud83d":{"b":["\ud83d", 1]}}`: `{"\ufffd":{"b":["\ufffd", 1]}}`,
	} {
		if got := rawjson.WellFormed(in); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
		if got := string(rawjson.WellFormed([]byte(in))); got != want {
			t.Errorf("bytes of %s: got %s, want %s", in, got, want)
		}
	}
}
