package store

import (
	"context"
	"encoding/json"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/server/runtimeapi/builds"
)

// LoadBuilds implements [builds.Store].
func (s *Store) LoadBuilds(ctx context.Context) ([]builds.Build, error) {
	rows, err := s.db.QueryContext(ctx, "SELECT document FROM builds ORDER BY id")
	if err != nil {
		return nil, failed(err)
	}
	defer rows.Close()
	var all []builds.Build
	for rows.Next() {
		var raw []byte
		var b builds.Build
		if err := rows.Scan(&raw); err != nil {
			return nil, failed(err)
		}
		if err := json.Unmarshal(raw, &b); err != nil || len(b.Tags) == 0 {
			return nil, fault.New(fault.Corrupt, "the database of runtimes is damaged: a build cannot be read").Because(err)
		}
		all = append(all, b)
	}
	return all, failed(rows.Err())
}

// SaveBuild implements [builds.Store].
func (s *Store) SaveBuild(ctx context.Context, b builds.Build) error {
	raw, err := json.Marshal(b)
	if err != nil {
		return err
	}
	_, err = s.db.ExecContext(ctx, `INSERT INTO builds (id, owner, status, document) VALUES (?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET status = excluded.status, document = excluded.document`, b.ID, b.Owner, string(b.Status), string(raw))
	return failed(err)
}

// DeleteBuild implements [builds.Store].
func (s *Store) DeleteBuild(ctx context.Context, id string) error {
	_, err := s.db.ExecContext(ctx, "DELETE FROM builds WHERE id = ?", id)
	return failed(err)
}
