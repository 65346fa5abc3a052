package bedrock

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"slices"
	"testing"

	"github.com/deft-dev/deft/internal/must"
)

// TestDecoder reads a message of the event stream's published test data, and
// our own messages.
func TestDecoder(t *testing.T) {
	t.Parallel()
	// payload_one_str_header of the public test vectors.
	published, err := base64.StdEncoding.DecodeString("AAAAPQAAACAH/YOWDGNvbnRlbnQtdHlwZQcAEGFwcGxpY2F0aW9uL2pzb257J2Zvbyc6J2Jhcid9jZwIsQ==")
	must.Succeed(t, err)
	d := newDecoder(bytes.NewReader(published))
	m, err := d.next()
	if err != nil || string(m.payload) != "{'foo':'bar'}" {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := d.next(); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
	two := slices.Concat(frame("a", []byte("1")), frame("b", bytes.Repeat([]byte("x"), 200_000)))
	d = newDecoder(bytes.NewReader(two))
	for _, want := range []struct {
		event string
		size  int
	}{{"a", 1}, {"b", 200_000}} {
		if m, err := d.next(); err != nil || m.kind != "event" || m.event != want.event || len(m.payload) != want.size {
			t.Errorf("message %s of %d bytes, %v", m.event, len(m.payload), err)
		}
	}
}

// TestBrokenMessages damages a message in every way.
func TestBrokenMessages(t *testing.T) {
	t.Parallel()
	sound := frame("messageStop", []byte(`{"stopReason":"end_turn"}`))
	for i := range sound {
		bad := slices.Clone(sound)
		bad[i] ^= 1
		if _, err := newDecoder(bytes.NewReader(bad)).next(); !errors.Is(err, errFraming) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("byte %d changed: %v", i, err)
		}
		if _, err := newDecoder(bytes.NewReader(sound[:i])).next(); i > 0 && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut off at %d: %v", i, err)
		}
	}
}

// TestHostileLength checks that a false length allocates no memory.
func TestHostileLength(t *testing.T) {
	t.Parallel()
	b := binary.BigEndian.AppendUint32(nil, 15<<20)
	b = binary.BigEndian.AppendUint32(b, 0)
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	d := newDecoder(bytes.NewReader(b))
	if _, err := d.next(); !errors.Is(err, io.ErrUnexpectedEOF) || cap(d.buf) > 128<<10 {
		t.Errorf("%v with %d bytes", err, cap(d.buf))
	}
}
