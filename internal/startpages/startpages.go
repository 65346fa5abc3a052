// Package startpages gives memory back that a program has mapped while it started.
//
// The packages of a large binary are initialized by code and tables all over it, and for
// each page the kernel maps the pages around it: more than half of a small server's
// resident memory is never used again.
//
// # Usage
//
//	err := startpages.Release() // once the program works
//
// # Concurrency and failure
//
// Release is safe at any time and for concurrent use: code and constants are only mapped
// again from the file when they are next used, which takes a fraction of a microsecond for
// each page that is still cached. The program's own data is not touched. It fails where
// /proc is missing; nothing is wrong then. A position-independent executable is left
// alone: the linker has written into pages that are constant afterwards.
package startpages

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Release unmaps the pages of this program's file that it cannot write.
func Release() error {
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("find this program's file: %w", err)
	}
	if fixed, err := fixedAddresses("/proc/self/exe"); err != nil || !fixed {
		return err
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return fmt.Errorf("find this program's memory: %w", err)
	}
	for line := range bytes.Lines(maps) {
		from, to, ok := constant(string(line), self)
		if !ok {
			continue
		}
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_DONTNEED); errno != 0 {
			return fmt.Errorf("give memory back: %w", errno)
		}
	}
	return nil
}

// fixedAddresses reports whether an executable has its addresses from the linker (ET_EXEC in
// elf(5)), so that nothing in it is relocated when it starts.
func fixedAddresses(path string) (bool, error) {
	f, err := elf.Open(path)
	if err != nil {
		return false, fmt.Errorf("read this program's file: %w", err)
	}
	return f.Type == elf.ET_EXEC, f.Close()
}

// constant returns the addresses of a line of /proc/self/maps, proc_pid_maps(5), if it is
// about a part of a file that is mapped for reading only.
func constant(line, file string) (from, to uintptr, ok bool) {
	f := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 6)
	if len(f) < 6 || strings.TrimLeft(f[5], " ") != file || len(f[1]) != 4 || f[1][0] != 'r' || f[1][1] != '-' || f[1][3] != 'p' {
		return 0, 0, false
	}
	first, after, _ := strings.Cut(f[0], "-")
	a, aerr := strconv.ParseUint(first, 16, 64)
	b, berr := strconv.ParseUint(after, 16, 64)
	return uintptr(a), uintptr(b), aerr == nil && berr == nil && a < b
}
