// Package gitlimit bounds the memory of the git programs that work on repositories of
// others. A few kilobytes of objects can otherwise make git unpack any amount.
//
// # Usage
//
//	cmd.Env = append(cmd.Env, gitlimit.Environ(settings...)...)
//	err := spawn.Bounds{Memory: gitlimit.Memory}.Run(cmd)
//	if gitlimit.Exceeded(stderr) { … }
//
// # Concurrency and failure
//
// Everything is safe for concurrent use. Git ends when it reaches the limit.
package gitlimit

import (
	"fmt"
	"slices"
	"strings"
)

const (
	// Memory bounds the memory of one git program, in bytes, while it reads a
	// repository.
	Memory = 256 << 20
	// FetchMemory bounds it while it fetches one.
	FetchMemory = 1 << 30
)

// settings keep git below the limits where it has a choice: names and values in
// turn. Threads count with their whole stacks.
var settings = []string{
	"core.bigFileThreshold", "16m", "core.deltaBaseCacheLimit", "16m", "core.packedGitLimit", "64m", "core.packedGitWindowSize", "4m",
	"core.preloadIndex", "false", "index.threads", "1", "pack.threads", "1", "pack.windowMemory", "32m", "checkout.workers", "1",
}

// Environ returns the variables that set the limits, and further settings, for one
// git program: names and values in turn.
func Environ(more ...string) []string {
	all := slices.Concat(settings, more)
	env := []string{fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(all)/2)}
	for i := 0; i+1 < len(all); i += 2 {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i/2, all[i]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i/2, all[i+1]))
	}
	return env
}

// Exceeded reports whether git said that it has not got enough memory.
func Exceeded(stderr string) bool {
	return strings.Contains(stderr, "out of memory") || strings.Contains(stderr, "Out of memory") || strings.Contains(stderr, "Cannot allocate memory")
}
