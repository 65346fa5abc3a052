package earlyshell

import (
	"strings"
	"testing"
)

func TestWorkspace(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"deft action-server --workspace /w --grace 1m0s --executor standard --mask TOKEN --ignore-signals --net=none": "/w", // session/build makes these
		"deft action-server --workspace /w --grace 1m0s --results /r":                                                 "",   // no sandbox
		"deft action-server --workspace /w --ignore-signals --own-program":                                            "",
		"deft action-server --ignore-signals":                                                                         "",
		"deft action-server --ignore-signals --workspace":                                                             "",
		"deft action-server 4000 --working-dir /w":                                                                    "",
		"deft run --workspace /w --ignore-signals":                                                                    "",
		"deft": "",
	} {
		if got := workspace(strings.Fields(args)); got != want {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
}
