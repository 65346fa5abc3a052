package runtimeapi_test

import (
	"strings"
	"testing"
	"time"

	"github.com/deft-dev/deft/server/runtimeapi"
)

func TestParsePool(t *testing.T) {
	t.Parallel()
	warm, err := runtimeapi.ParsePool([]byte(`[{"image":"i","size":2,"max_age":"1h"}]`))
	if err != nil || len(warm) != 1 || warm[0].Request.Image != "i" || warm[0].Size.Ready != 2 || warm[0].Size.MaxAge != time.Hour {
		t.Errorf("%+v %v", warm, err)
	}
	for text, says := range map[string]string{
		`{}`: "no list of sandboxes", `[{"size":1,"colour":"red"}]`: `unknown field "colour"`, `[{"size":0}]`: "size and max_age of entry 1",
		`[{"size":1},{"size":1,"max_age":"soon"}]`: "max_age of entry 2 is no duration",
	} {
		if _, err := runtimeapi.ParsePool([]byte(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
