package settings_test

import (
	"testing"

	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/settings"
)

// BenchmarkLoad is the settings' share of a conversation's start.
func BenchmarkLoad(b *testing.B) {
	s, err := settings.Open(b.Context(), settings.Options{Dir: b.TempDir(), Keys: keyring.New("k")})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := s.Change(b.Context(), func(*settings.Document) error { return nil }); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.StartAgent(); err != nil {
			b.Fatal(err)
		}
	}
}
