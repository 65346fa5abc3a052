package store

import (
	"context"
	"errors"

	"github.com/deft-dev/deft/schema"
)

// unseal opens a sealed value. It is [schema.ErrSealed] if no key does.
func (s *Store) unseal(value string) ([]byte, error) {
	plain, err := s.ring.Open(value)
	if err != nil {
		return nil, schema.ErrSealed
	}
	return plain, nil
}

// evenSealed reads a row also if no key opens its sealed value, without that.
func evenSealed[T any](read func(scanner) (T, error)) func(scanner) (T, error) {
	return func(row scanner) (T, error) {
		v, err := read(row)
		if errors.Is(err, schema.ErrSealed) {
			err = nil
		}
		return v, err
	}
}

// sealed are the columns with sealed values, and that by which their rows are named.
var sealed = []struct{ table, column string }{
	{"app_sandboxes", "key_sealed"}, {"app_jobs", "args"},
}

// Owners returns all who have a credential, a sandbox or a conversation.
func (s *Store) Owners(ctx context.Context) ([]string, error) {
	return all(s.on(ctx), value[string], "SELECT owner FROM app_credentials UNION SELECT owner FROM app_sandboxes UNION SELECT owner FROM app_conversations")
}

// renewed is how many rows are read at a time.
const renewed = 100

// renew seals values that only a previous key opens with the current one, so that the
// previous key can be taken away. Values that no key opens stay unchanged, for the day
// their key comes back.
func (s *Store) renew(ctx context.Context) error {
	if !s.ring.HasPrevious() {
		return nil
	}
	for _, c := range sealed {
		for after, more := "", true; more; {
			var err error
			if after, more, err = s.renewAfter(ctx, c.table, c.column, after); err != nil {
				return err
			}
		}
	}
	return nil
}

// renewAfter renews the next rows of a table, and returns the id of the last one.
func (s *Store) renewAfter(ctx context.Context, table, column, after string) (last string, more bool, err error) {
	type row struct{ id, value string }
	rows, err := all(s.on(ctx), func(from scanner) (r row, err error) { err = from.Scan(&r.id, &r.value); return r, err },
		"SELECT id, "+column+" FROM "+table+" WHERE id > ? ORDER BY id LIMIT ?", after, renewed)
	if err != nil {
		return "", false, err
	}
	for _, r := range rows {
		last = r.id
		if !s.ring.Stale(r.value) {
			continue
		}
		value, err := s.ring.Renew(r.value)
		if err != nil {
			return "", false, err
		}
		// If another server has changed it meanwhile, that one is newer.
		if _, err := s.on(ctx).exec("UPDATE "+table+" SET "+column+" = ? WHERE id = ? AND "+column+" = ?", value, r.id, r.value); err != nil {
			return "", false, failed(err)
		}
	}
	return last, len(rows) == renewed, nil
}
