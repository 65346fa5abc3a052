//go:build !race

package workflow

// maxMemory bounds the memory of a script's process, with the program itself.
const maxMemory = 256 << 20
