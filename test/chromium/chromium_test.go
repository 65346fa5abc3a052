package chromium_test

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/deft-dev/deft/test/chromium"
)

func TestPath(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the starter is for Linux")
	}
	path, err := chromium.Path(t)
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	out, err := exec.CommandContext(t.Context(), path, "--version").Output()
	if err != nil || !strings.HasPrefix(string(out), "Chromium") {
		t.Errorf("%q, %v", out, err)
	}
}
