// Package textfile decodes text files of people, which other programs have written: with
// a byte order mark, in UTF-16, or with bytes of an older encoding.
//
// # Usage
//
//	raw, err := textfile.Read(path) // a configuration file
//	text, ok := textfile.Prose(raw) // text for people and models
//
// # Concurrency and failure
//
// Everything may be called from any goroutine. Read fails as [os.ReadFile].
package textfile

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Read reads a file and decodes it.
func Read(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	return Decode(b), err
}

// Decode returns text as UTF-8 without a byte order mark. Text with the mark of UTF-16 is
// converted; anything else stays.
func Decode(b []byte) []byte {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(b, []byte("\xef\xbb\xbf")):
		return b[3:]
	case bytes.HasPrefix(b, []byte("\xff\xfe")):
		order = binary.LittleEndian
	case bytes.HasPrefix(b, []byte("\xfe\xff")):
		order = binary.BigEndian
	default:
		return b
	}
	units := make([]uint16, 0, len(b)/2)
	for b = b[2:]; len(b) >= 2; b = b[2:] {
		units = append(units, order.Uint16(b))
	}
	return []byte(string(utf16.Decode(units)))
}

// windows1252 are the characters of the bytes from 0x80 to 0x9f, where they are no control
// characters as in Latin-1.
var windows1252 = [32]rune{
	'€', 0x81, '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', 0x8d, 'Ž', 0x8f,
	0x90, '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', 0x9d, 'ž', 'Ÿ',
}

// Prose decodes text for people and models. Bytes that are no UTF-8 are read as Windows-1252,
// which contains Latin-1. It reports false for data that is no text.
func Prose(b []byte) (text string, ok bool) {
	b = Decode(b)
	if bytes.IndexByte(b, 0) >= 0 {
		return "", false
	}
	if utf8.Valid(b) {
		return string(b), true
	}
	var out strings.Builder
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		if r == utf8.RuneError && size == 1 {
			if r = rune(b[0]); r < 0xa0 {
				r = windows1252[r-0x80]
			}
		}
		out.WriteRune(r)
		b = b[size:]
	}
	return out.String(), true
}

// Reader reads from r without the byte order mark of UTF-8.
func Reader(r io.Reader) io.Reader {
	buf := bufio.NewReader(r)
	if mark, err := buf.Peek(3); err == nil && string(mark) == "\xef\xbb\xbf" {
		_, _ = buf.Discard(len(mark)) // they are there
	}
	return buf
}
