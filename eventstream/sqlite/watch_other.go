//go:build !linux

package sqlite

// watch does nothing here: followers are woken by their own process only.
type watch struct{}

func startWatch(string, func()) (*watch, error) { return &watch{}, nil }

func (*watch) close() error { return nil }
