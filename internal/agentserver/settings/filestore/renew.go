package filestore

import (
	"context"
	"fmt"

	"github.com/deft-dev/deft/internal/agentserver/settings/shape"
)

// Renew seals the secrets of a file anew that only an old key opens, and
// reports whether there were any. A file with a secret that no key opens is
// left as it is, with [shape.ErrSealed].
func Renew(ctx context.Context, path, lock string, keys shape.Keys) (bool, error) {
	unlock, err := Lock(ctx, lock)
	if err != nil {
		return false, err
	}
	defer unlock()
	raw, err := Read(path)
	if err != nil || len(raw) == 0 {
		return false, err
	}
	doc, err := shape.Parse(raw)
	if err != nil {
		return false, fmt.Errorf("read %s: %w", path, err)
	}
	if !shape.Stale(keys, doc) {
		return false, nil
	}
	if doc, err = shape.Renew(keys, doc); err != nil {
		return false, err
	}
	out, err := shape.Indent(doc)
	if err != nil {
		return false, err
	}
	return true, Write(path, out)
}
