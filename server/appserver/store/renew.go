package store

import (
	"context"

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

// sealed are the columns with sealed values, and that by which their rows are named.
var sealed = []struct{ table, column string }{
	{"app_sandboxes", "key_sealed"}, {"app_jobs", "args"},
}

// Owners returns all who have a credential, a sandbox or a conversation.
func (s *Store) Owners(ctx context.Context) ([]string, error) {
	all, err := s.on(ctx).texts("SELECT owner FROM app_credentials UNION SELECT owner FROM app_sandboxes UNION SELECT owner FROM app_conversations")
	return all, failed(err)
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
	stale := map[string]string{} // by id
	rows, err := s.on(ctx).rows("SELECT id, "+column+" FROM "+table+" WHERE id > ? ORDER BY id LIMIT ?", after, renewed)
	if err != nil {
		return "", false, failed(err)
	}
	defer rows.Close()
	n := 0
	for ; rows.Next(); n++ {
		var value string
		if err := rows.Scan(&last, &value); err != nil {
			return "", false, failed(err)
		}
		if s.ring.Stale(value) {
			stale[last] = value
		}
	}
	if err := rows.Err(); err != nil {
		return "", false, failed(err)
	}
	for id, old := range stale {
		value, err := s.ring.Renew(old)
		if err != nil {
			return "", false, err
		}
		// If another server has changed it meanwhile, that one is newer.
		if _, err := s.on(ctx).exec("UPDATE "+table+" SET "+column+" = ? WHERE id = ? AND "+column+" = ?", value, id, old); err != nil {
			return "", false, failed(err)
		}
	}
	return last, n == renewed, nil
}
