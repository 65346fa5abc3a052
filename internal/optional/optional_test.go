package optional_test

import (
	"testing"

	"github.com/deft-dev/deft/internal/optional"
)

func TestOptional(t *testing.T) {
	t.Parallel()
	for _, v := range []string{"", "a"} {
		p := optional.Of(v)
		if (p == nil) != (v == "") || optional.Value(p) != v {
			t.Errorf("%q became %v and %q", v, p, optional.Value(p))
		}
	}
}
