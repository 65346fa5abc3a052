package zipfile_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/zipfile"
)

func pack(t *testing.T, entries int) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for i := range entries {
		f, err := z.Create(fmt.Sprintf("%0*d", 1+i%7, i))
		if err == nil {
			_, err = fmt.Fprint(f, i)
		}
		must.Succeed(t, err)
	}
	must.Succeed(t, z.Close())
	return out.Bytes()
}

func TestOpen(t *testing.T) {
	t.Parallel()
	raw := pack(t, 5000)
	z, err := zipfile.Open(bytes.NewReader(raw), int64(len(raw)), 5000)
	must.Succeed(t, err)
	f, err := z.File[4999].Open()
	must.Succeed(t, err)
	if got, err := io.ReadAll(f); string(got) != "4999" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	must.Report(t, f.Close())
	if _, err := zipfile.Open(bytes.NewReader(raw), int64(len(raw)), 4999); !errors.Is(err, zipfile.ErrTooMany) {
		t.Errorf("one too many: %v", err)
	}
	if _, err := zipfile.Open(bytes.NewReader(raw[:99]), 99, 5000); !errors.Is(err, zip.ErrFormat) {
		t.Errorf("cut: %v", err)
	}
}

// endless is a zip file whose directory has far more entries than its end says. Each is as
// short as can be.
type endless struct {
	size int64
	end  []byte
	read int64
}

var entry = append([]byte("PK\x01\x02"), make([]byte, 42)...)

func (e *endless) ReadAt(p []byte, off int64) (int, error) {
	e.read += int64(len(p))
	for i := range p {
		switch at := off + int64(i); {
		case at >= e.size:
			return i, io.EOF
		case at >= e.size-int64(len(e.end)):
			p[i] = e.end[at-e.size+int64(len(e.end))]
		default:
			p[i] = entry[at%int64(len(entry))]
		}
	}
	return len(p), nil
}

// TestTooMany: a directory of a gigabyte is not read to its end.
func TestTooMany(t *testing.T) {
	t.Parallel()
	const entries, said = 20_000_000, 3
	end := append([]byte("PK\x05\x06"), make([]byte, 18)...)
	binary.LittleEndian.PutUint16(end[8:], said)
	binary.LittleEndian.PutUint16(end[10:], said)
	size := int64(entries * len(entry))
	binary.LittleEndian.PutUint32(end[12:], uint32(size))
	e := &endless{size: size + int64(len(end)), end: end}
	if _, err := zipfile.Open(e, e.size, 1000); !errors.Is(err, zipfile.ErrTooMany) {
		t.Errorf("%v", err)
	}
	if e.read > 1<<20 {
		t.Errorf("%d bytes were read", e.read)
	}
}

// TestSplit: an entry is counted that begins in one read and ends in the next.
func TestSplit(t *testing.T) {
	t.Parallel()
	raw := pack(t, 5000)
	for _, most := range []int{0, 1, 100} {
		if _, err := zipfile.Open(&short{bytes.NewReader(raw)}, int64(len(raw)), most); !errors.Is(err, zipfile.ErrTooMany) {
			t.Errorf("%d: %v", most, err)
		}
	}
}

// short reads little at once.
type short struct{ io.ReaderAt }

func (s *short) ReadAt(p []byte, off int64) (n int, err error) {
	for n < len(p) && err == nil {
		var m int
		m, err = s.ReaderAt.ReadAt(p[n:min(len(p), n+3)], off+int64(n))
		n += m
	}
	return n, err
}
