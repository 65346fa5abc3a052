//go:build !linux

package sqlite

import "os"

// watch does nothing here: followers are woken by their own process only.
type watch struct{}

func watched(*os.File) bool { return false }

func startWatch(*os.File, func()) (*watch, error) { return &watch{}, nil }

func (*watch) close() error { return nil }
