package settings_test

import (
	"testing"

	"github.com/deft-dev/deft/settings"
)

func TestOpenNeedsADirectory(t *testing.T) {
	t.Parallel()
	if _, err := settings.Open(t.Context(), settings.Options{}); err == nil {
		t.Error("settings were opened without a directory")
	}
}
