package v0

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
)

// TestZipOf: the archive of a sandbox's workspace is bounded in files and bytes.
func TestZipOf(t *testing.T) {
	t.Parallel()
	var one bytes.Buffer
	must.Succeed(t, tar.NewWriter(&one).WriteHeader(&tar.Header{Name: "x", PAXRecords: map[string]string{"a.b": "c"}}))
	extended, entry := one.Next(1024), one.Bytes()
	if err := zipOf(io.Discard, &repeated{one: entry, left: 1001}, 1000); !fault.Is(err, fault.Limit) {
		t.Errorf("too many files: %v", err)
	}
	large := new(http.MaxBytesError)
	if err := zipOf(io.Discard, http.MaxBytesReader(nil, io.NopCloser(&repeated{one: extended, left: 10_000}), 1<<20), 1000); !errors.As(err, &large) {
		t.Errorf("headers without end: %v", err)
	}
	var out bytes.Buffer
	if err := zipOf(&out, &repeated{one: entry, left: 3}, 3); err != nil || bytes.Count(out.Bytes(), []byte("PK\x01\x02")) != 3 {
		t.Errorf("%v, %q", err, fmt.Sprintf("%.300s", out.Bytes()))
	}
}

// repeated reads as one so many times.
type repeated struct {
	one  []byte
	left int
	rest []byte
}

func (r *repeated) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		if r.left == 0 {
			return 0, io.EOF
		}
		r.left--
		r.rest = r.one
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
