// Package objectstore keeps large things of an App Server under keys: archives of the workspaces of sandboxes
// that were deleted, and trajectories that conversations replay. Adapters keep them in a directory
// (objectstore/local) or in a bucket (objectstore/s3).
//
// # Usage
//
//	err := s.Put(ctx, "workspaces/ID.tar.gz", content)
//	r, err := s.Get(ctx, "workspaces/ID.tar.gz")
//
// # Concurrency and failure
//
// A Store is safe for concurrent use, by several processes too. An object survives the end
// of the process and a power loss once Put has returned, as far as its place does; of two at
// the same time, one wins. Errors have the kinds of package fault: NotFound for a missing
// key, Invalid for one that [CheckKey] refuses.
package objectstore

import (
	"context"
	"io"
	"strings"

	"github.com/deft-dev/deft/fault"
)

// Store keeps objects.
type Store interface {
	// Put stores an object of at least one byte ([ErrEmpty]), all of it or, after an error of content too, nothing: one that
	// was there is then left.
	Put(ctx context.Context, key string, content io.Reader) error
	// Get returns an object. The caller closes it, and reads it while ctx lasts.
	Get(ctx context.Context, key string) (io.ReadCloser, error)
	// Delete deletes an object. It is no error if there is none.
	Delete(ctx context.Context, key string) error
}

// ErrEmpty refuses an object without a byte, which some servers do not take.
var ErrEmpty = fault.New(fault.Invalid, "an object cannot be empty")

// maxKey bounds a key in bytes.
const maxKey = 512

// CheckKey refuses all but keys: parts of ASCII letters, digits, dots, dashes and
// underscores, none of which begins with a dot, with slashes between them.
func CheckKey(key string) error {
	ok := len(key) <= maxKey
	for part := range strings.SplitSeq(key, "/") {
		ok = ok && part != "" && part[0] != '.' && !strings.ContainsFunc(part, func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-' || r == '_')
		})
	}
	if !ok {
		return fault.New(fault.Invalid, "an object cannot be called "+key)
	}
	return nil
}
