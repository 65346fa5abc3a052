package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

//go:embed openhands.py
var openhands string

// peerSteps lets OpenHands' SDK do the same steps with its terminal tool, in
// one process on this machine, without any sandbox.
func (b *bench) peerSteps(ctx context.Context) (string, error) {
	if b.python == "" {
		return "not installed", nil
	}
	b.script(20)
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.python, "-B", "-c", openhands)
	cmd.Env = append(os.Environ(), "LLM_BASE_URL="+b.url, "OPENHANDS_SUPPRESS_BANNER=1")
	cmd.Dir = b.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("openhands-sdk: %w\n%s", err, out)
	}
	if !strings.Contains(string(out), "BENCH DONE") {
		return "", fmt.Errorf("openhands-sdk did not finish:\n%s", out)
	}
	return p50p90(b.gaps(5)) + " (no sandbox)", nil
}
