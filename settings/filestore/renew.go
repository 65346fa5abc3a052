package filestore

import (
	"context"
	"fmt"

	"github.com/deft-dev/deft/schema"
)

// Renew seals the secrets of a file anew that only an old key opens. A file
// with a secret that no key opens is left as it is, with [schema.ErrSealed].
func Renew(ctx context.Context, f Files, path, lock string, keys schema.Keys) error {
	unlock, err := f.Lock(ctx, lock)
	if err != nil {
		return err
	}
	defer unlock()
	raw, err := f.Read(path)
	if err != nil || len(raw) == 0 {
		return err
	}
	doc, err := schema.Parse(raw)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if !schema.Stale(keys, doc) {
		return nil
	}
	if doc, err = schema.Renew(keys, doc); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return WriteDocument(f, path, doc)
}
