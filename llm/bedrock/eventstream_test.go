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
)

// TestDecoder reads a message of the event stream's published test data, and
// our own messages.
func TestDecoder(t *testing.T) {
	t.Parallel()
	// payload_one_str_header of the public test vectors.
	published, err := base64.StdEncoding.DecodeString("AAAAPQAAACAH/YOWDGNvbnRlbnQtdHlwZQcAEGFwcGxpY2F0aW9uL2pzb257J2Zvbyc6J2Jhcid9jZwIsQ==")
	if err != nil {
		t.Fatal(err)
	}
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
		if _, err := newDecoder(bytes.NewReader(bad)).next(); !errors.Is(err, errChecksum) {
			t.Errorf("byte %d changed: %v", i, err)
		}
		if _, err := newDecoder(bytes.NewReader(sound[:i])).next(); i > 0 && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut off at %d: %v", i, err)
		}
	}
	for name, head := range map[string][2]uint32{
		"too small": {8, 0}, "too large": {maxMessage + 1, 0}, "headers larger than all": {20, 10}, "too many headers": {1 << 20, maxHeaders + 1},
	} {
		b := binary.BigEndian.AppendUint32(nil, head[0])
		b = binary.BigEndian.AppendUint32(b, head[1])
		b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
		if _, err := newDecoder(bytes.NewReader(append(b, make([]byte, 64)...))).next(); !errors.Is(err, errFraming) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, headers := range map[string][]byte{
		"empty name": {0, 7, 0, 0}, "unknown type": {1, 'a', 10}, "no length": {1, 'a', 7, 0}, "short value": {1, 'a', 7, 0, 5, 'x'}, "short number": {1, 'a', 4, 0},
	} {
		var m message
		if err := m.readHeaders(headers); !errors.Is(err, errFraming) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var m message
	all := []byte{1, 'a', 0, 1, 'b', 1, 1, 'c', 2, 9, 1, 'd', 3, 0, 9, 1, 'e', 4, 0, 0, 0, 9, 1, 'f', 5, 0, 0, 0, 0, 0, 0, 0, 9, 1, 'g', 6, 0, 1, 'x'}
	all = append(all, 1, 'h', 8, 0, 0, 0, 0, 0, 0, 0, 9, 1, 'i', 9)
	all = append(all, make([]byte, 16)...)
	all = append(append(all, 11), ":event-type\x07\x00\x01z"...)
	if err := m.readHeaders(all); err != nil || m.event != "z" {
		t.Errorf("%+v, %v", m, err)
	}
}

// TestHostileLength checks that a false length allocates no memory.
func TestHostileLength(t *testing.T) {
	t.Parallel()
	b := binary.BigEndian.AppendUint32(nil, maxMessage)
	b = binary.BigEndian.AppendUint32(b, 0)
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	d := newDecoder(bytes.NewReader(b))
	if _, err := d.next(); !errors.Is(err, io.ErrUnexpectedEOF) || cap(d.buf) > 128<<10 {
		t.Errorf("%v with %d bytes", err, cap(d.buf))
	}
}
