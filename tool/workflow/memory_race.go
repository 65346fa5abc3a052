//go:build race

package workflow

// maxMemory is none: the race detector reserves more than any bound at its start.
const maxMemory = 0
