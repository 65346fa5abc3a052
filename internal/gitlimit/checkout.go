package gitlimit

import (
	"fmt"
	"strconv"
	"strings"
)

// ListTree are the arguments of git whose output [Checkout] reads.
func ListTree(commit string) []string {
	return []string{"ls-tree", "-r", "-t", "-l", "-z", "--end-of-options", commit}
}

// Checkout adds up the unpacked size of a commit, and fails beyond its bounds: some
// hundred bytes of objects can name any number of files. It is an [io.Writer] for one git
// program.
type Checkout struct {
	MaxFiles int // and directories
	MaxBytes uint64

	line  []byte // MODE TYPE OBJECT SIZE\tPATH
	files int
	bytes uint64
	err   error
}

// Err says which bound was exceeded; nil for none.
func (c *Checkout) Err() error { return c.err }

// Write implements [io.Writer]. Its error ends the program.
func (c *Checkout) Write(b []byte) (int, error) {
	for _, char := range b {
		if char != 0 {
			if len(c.line) < 256 { // all but the path
				c.line = append(c.line, char)
			}
			continue
		}
		if c.err = c.add(string(c.line)); c.err != nil {
			return 0, c.err
		}
		c.line = c.line[:0]
	}
	return len(b), nil
}

func (c *Checkout) add(line string) error {
	if c.files++; c.files > c.MaxFiles {
		return fmt.Errorf("it has more than %d files", c.MaxFiles)
	}
	about, _, _ := strings.Cut(line, "\t")
	// The size of a directory is "-", of a missing object "BAD".
	if fields := strings.Fields(about); len(fields) == 4 && fields[3] != "-" && fields[3] != "BAD" {
		size, err := strconv.ParseUint(fields[3], 10, 64)
		if err != nil {
			return fmt.Errorf("the size of a file: %w", err)
		}
		c.bytes += min(size, c.MaxBytes+1)
	}
	if c.bytes > c.MaxBytes {
		return fmt.Errorf("its files have more than %d bytes", c.MaxBytes)
	}
	return nil
}
