package must_test

import (
	"errors"
	"testing"

	"github.com/deft-dev/deft/internal/must"
)

// recorder is a test that only remembers its failure.
type recorder struct{ fatal, failed []any }

func (*recorder) Helper()             {}
func (r *recorder) Fatal(args ...any) { r.fatal = args }
func (r *recorder) Error(args ...any) { r.failed = args }

func TestErrors(t *testing.T) {
	t.Parallel()
	err := errors.New("disk full")
	is := func(told []any) bool { return len(told) == 1 && errors.Is(told[0].(error), err) }
	var r recorder
	must.Succeed(&r, nil)
	must.Report(&r, nil)
	if r.fatal != nil || r.failed != nil {
		t.Errorf("failed without an error: %v, %v", r.fatal, r.failed)
	}
	if must.Succeed(&r, err); !is(r.fatal) || r.failed != nil {
		t.Errorf("told %v and %v, want %v", r.fatal, r.failed, err)
	}
	r = recorder{}
	if must.Report(&r, err); !is(r.failed) || r.fatal != nil {
		t.Errorf("told %v and %v, want %v", r.failed, r.fatal, err)
	}
}
