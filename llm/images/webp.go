package images

import (
	"encoding/base64"
	"encoding/binary"
)

// webpSize reads the size of a WebP image from its first chunk
// (https://developers.google.com/speed/webp/docs/riff_container). It does not
// decode: no decoder is linked in.
func webpSize(data string) (width, height int, ok bool) {
	const need = 30
	var b [48]byte
	n, _ := base64.StdEncoding.Decode(b[:], []byte(data[:min(len(data), 40)])) // later errors are left to the provider
	if n < need || string(b[:4]) != "RIFF" || string(b[8:12]) != "WEBP" {
		return 0, 0, false
	}
	switch string(b[12:16]) {
	case "VP8X":
		width = 1 + (int(b[24]) | int(b[25])<<8 | int(b[26])<<16)
		height = 1 + (int(b[27]) | int(b[28])<<8 | int(b[29])<<16)
	case "VP8 ":
		width = int(binary.LittleEndian.Uint16(b[26:])) & 0x3FFF
		height = int(binary.LittleEndian.Uint16(b[28:])) & 0x3FFF
	case "VP8L":
		bits := binary.LittleEndian.Uint32(b[21:])
		width, height = 1+int(bits&0x3FFF), 1+int(bits>>14&0x3FFF)
	}
	return width, height, width > 0 && height > 0
}
