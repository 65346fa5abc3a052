// Package zipfile opens zip files of others: those that name more entries than a bound are
// refused before they take memory. The standard library makes a record of some hundred
// bytes for each of the 46 bytes that an entry needs at least.
//
// # Usage
//
//	z, err := zipfile.Open(r, size, 100_000)
//
// # Concurrency and failure
//
// Open reads r from one goroutine; the reader that it returns is used as any [zip.Reader].
// Names of entries can lead anywhere: callers check them.
package zipfile

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
)

// ErrTooMany is the error of a zip file with more entries than asked for.
var ErrTooMany = errors.New("the zip file has too many entries")

// Where a zip file ends is looked for in its last bytes, which can be read twice.
const (
	entrySize = 46
	endSize   = 65 << 10
)

// Open opens a zip file of size bytes with at most so many entries.
func Open(r io.ReaderAt, size int64, most int) (*zip.Reader, error) {
	c := &counter{r: r, left: most + 2*endSize/entrySize, counts: true}
	z, err := zip.NewReader(c, size)
	c.counts = false
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return nil, err
	}
	if len(z.File) > most {
		return nil, ErrTooMany
	}
	return z, nil
}

// signature begins every entry of a zip file's directory.
var signature = []byte("PK\x01\x02")

// counter counts the entries that are read, and fails after some.
type counter struct {
	r      io.ReaderAt
	left   int
	counts bool // the directory is being read
	// The last bytes read, in which a signature may have begun.
	last []byte
	next int64
}

// ReadAt implements [io.ReaderAt].
func (c *counter) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.r.ReadAt(p, off)
	if !c.counts {
		return n, err
	}
	if off != c.next {
		c.last = nil
	}
	c.left -= bytes.Count(p[:n], signature)
	seam := append(c.last, p[:min(n, len(signature)-1)]...)
	c.left -= bytes.Count(seam, signature)
	if n < len(signature) {
		c.last = seam[max(0, len(seam)-len(signature)+1):]
	} else {
		c.last = bytes.Clone(p[n-len(signature)+1 : n])
	}
	c.next = off + int64(n)
	if c.left < 0 {
		return 0, ErrTooMany
	}
	return n, err
}
