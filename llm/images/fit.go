package images

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	_ "image/gif" // decoders
	"image/jpeg"
	"image/png"
	"strings"

	"github.com/deft-dev/deft/fault"
)

// maxPixels is the maximum size to decode: at most 8 bytes a pixel, one image
// at a time.
const maxPixels = 40_000_000

// quality is the quality of re-encoded JPEG images.
const quality = 85

// smallest is the minimum side in pixels: nothing can be recognized below it.
const smallest = 8

func refuse(format string, args ...any) error {
	return fault.New(fault.Invalid, fmt.Sprintf(format, args...))
}

// fitData returns the data: URL of an image within the limits: the same URL if
// it is within them and has the right media type, else a smaller image. Zero is
// no limit.
func fitData(url string, side, maxBytes int) (string, error) {
	head, data, ok := strings.Cut(strings.TrimPrefix(url, "data:"), ",")
	media, isBase64 := strings.CutSuffix(head, ";base64")
	if !ok || !isBase64 || data == "" {
		return "", refuse("its URL is not base64 data")
	}
	cfg, format, err := header(data)
	if err != nil {
		return "", err
	}
	fits := (side == 0 || max(cfg.Width, cfg.Height) <= side) && (maxBytes == 0 || len(data) <= maxBytes)
	if fits {
		if media == "image/"+format {
			return url, nil
		}
		return "data:image/" + format + ";base64," + data, nil // providers compare it with the data
	}
	if format == "webp" {
		return "", refuse("it is a WebP image of %d × %d pixels and %d bytes, more than the provider accepts", cfg.Width, cfg.Height, len(data)/4*3)
	}
	if cfg.Width*cfg.Height > maxPixels {
		return "", refuse("it has %d × %d pixels, too many to make it smaller", cfg.Width, cfg.Height)
	}
	src, _, err := image.Decode(base64.NewDecoder(base64.StdEncoding, strings.NewReader(data)))
	if err != nil {
		return "", refuse("it is damaged: %v", err)
	}
	return shrink(src, format, side, maxBytes)
}

// header reads only the size and the format of an image.
func header(data string) (image.Config, string, error) {
	if w, h, ok := webpSize(data); ok {
		return image.Config{Width: w, Height: h}, "webp", nil
	}
	cfg, format, err := image.DecodeConfig(base64.NewDecoder(base64.StdEncoding, strings.NewReader(data)))
	if err != nil {
		return cfg, "", refuse("it is not a PNG, JPEG, GIF or WebP image")
	}
	if cfg.Width <= 0 || cfg.Height <= 0 {
		return cfg, "", refuse("it is empty")
	}
	return cfg, format, nil
}

// shrink encodes an image within the limits.
func shrink(src image.Image, format string, side, maxBytes int) (string, error) {
	b := src.Bounds()
	longest := max(b.Dx(), b.Dy())
	if side == 0 || side > longest {
		side = longest
	}
	lossy := format == "jpeg"
	small := image.NewRGBA(image.Rect(0, 0, b.Dx(), b.Dy()))
	draw.Draw(small, small.Bounds(), src, b.Min, draw.Src)
	for side >= smallest || side == longest {
		small = scale(small, side)
		encoded, err := encode(small, lossy)
		if err != nil {
			return "", refuse("it cannot be encoded: %v", err)
		}
		if maxBytes == 0 || base64.StdEncoding.EncodedLen(len(encoded)) <= maxBytes {
			name := "png"
			if lossy {
				name = "jpeg"
			}
			return "data:image/" + name + ";base64," + base64.StdEncoding.EncodeToString(encoded), nil
		}
		if lossy { // a PNG may do as JPEG of the same size
			longest, side = 0, side*3/4
		}
		lossy = true
	}
	return "", refuse("it cannot be made small enough")
}

func encode(m image.Image, lossy bool) ([]byte, error) {
	var b bytes.Buffer
	if !lossy {
		err := png.Encode(&b, m)
		return b.Bytes(), err
	}
	// JPEG has no transparency: transparent pixels become white, not black.
	flat := image.NewRGBA(m.Bounds())
	draw.Draw(flat, flat.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.Draw(flat, flat.Bounds(), m, m.Bounds().Min, draw.Over)
	err := jpeg.Encode(&b, flat, &jpeg.Options{Quality: quality})
	return b.Bytes(), err
}

// scale returns the image with this length of its longer side. Each pixel is
// the mean of the pixels it replaces.
func scale(full *image.RGBA, side int) *image.RGBA {
	b := full.Bounds()
	longest := max(b.Dx(), b.Dy())
	if side >= longest {
		return full
	}
	w, h := max(1, b.Dx()*side/longest), max(1, b.Dy()*side/longest)
	out := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		top, bottom := y*b.Dy()/h, (y+1)*b.Dy()/h
		for x := range w {
			mean(out.Pix[out.PixOffset(x, y):], full, image.Rect(x*b.Dx()/w, top, (x+1)*b.Dx()/w, bottom))
		}
	}
	return out
}

// mean writes the mean colour of a rectangle.
func mean(dst []uint8, m *image.RGBA, r image.Rectangle) {
	var sum [4]uint64
	for y := r.Min.Y; y < r.Max.Y; y++ {
		row := m.Pix[m.PixOffset(r.Min.X, y) : m.PixOffset(r.Max.X-1, y)+4]
		for i := 0; i < len(row); i += 4 {
			for c := range sum {
				sum[c] += uint64(row[i+c])
			}
		}
	}
	n := uint64(r.Dx() * r.Dy())
	for c := range sum {
		dst[c] = uint8((sum[c] + n/2) / n)
	}
}
