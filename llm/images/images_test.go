package images

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
)

// noise is an image that does not compress.
func noise(w, h int) *image.RGBA {
	m := image.NewRGBA(image.Rect(0, 0, w, h))
	r := rand.New(rand.NewPCG(1, 2))
	for i := range m.Pix {
		m.Pix[i] = uint8(r.Uint32())
		if i%4 == 3 {
			m.Pix[i] = 255
		}
	}
	return m
}

func dataURL(media string, b []byte) string {
	return "data:" + media + ";base64," + base64.StdEncoding.EncodeToString(b)
}

func encoded(t testing.TB, format string, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	var err error
	switch format {
	case "png":
		err = png.Encode(&b, m)
	case "jpeg":
		err = jpeg.Encode(&b, m, nil)
	case "gif":
		err = gif.Encode(&b, m, nil)
	}
	must.Succeed(t, err)
	return b.Bytes()
}

// sizeOf decodes a whole data: URL.
func sizeOf(t *testing.T, url string) (format string, w, h int) {
	t.Helper()
	head, data, _ := strings.Cut(url, ",")
	raw, err := base64.StdEncoding.DecodeString(data)
	must.Succeed(t, err)
	m, format, err := image.Decode(bytes.NewReader(raw))
	if err != nil || head != "data:image/"+format+";base64" {
		t.Fatalf("%s: %s, %v", head, format, err)
	}
	return format, m.Bounds().Dx(), m.Bounds().Dy()
}

func TestFit(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		format         string
		w, h           int
		side, maxBytes int
		want           string
		wantW, wantH   int // 0 where only the bound counts
	}{
		"fits":            {"png", 40, 20, 40, 1 << 20, "png", 40, 20},
		"wide":            {"png", 400, 100, 40, 0, "png", 40, 10},
		"tall JPEG":       {"jpeg", 30, 300, 100, 0, "jpeg", 10, 100},
		"thin":            {"png", 1000, 1, 10, 0, "png", 10, 1},
		"GIF":             {"gif", 100, 100, 50, 0, "png", 50, 50},
		"many bytes":      {"png", 300, 300, 0, 200_000, "jpeg", 300, 300},
		"very many bytes": {"png", 300, 300, 0, 20_000, "jpeg", 0, 0},
	} {
		url := dataURL("image/"+tt.format, encoded(t, tt.format, noise(tt.w, tt.h)))
		got, err := fitData(url, tt.side, tt.maxBytes)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		format, w, h := sizeOf(t, got)
		if format != tt.want || tt.wantW > 0 && (w != tt.wantW || h != tt.wantH) || tt.maxBytes > 0 && len(got) > tt.maxBytes+40 {
			t.Errorf("%s: %s of %d × %d, %d bytes", name, format, w, h, len(got))
		}
	}
	// A name that does not fit the data is set right.
	jpg := encoded(t, "jpeg", noise(4, 4))
	if got, err := fitData(dataURL("image/png", jpg), 10, 0); err != nil || got != dataURL("image/jpeg", jpg) {
		t.Errorf("wrong media type: %s, %v", got, err)
	}
}

func TestScaleKeepsColours(t *testing.T) {
	t.Parallel()
	m := image.NewRGBA(image.Rect(0, 0, 100, 50))
	for y := range 50 {
		for x := range 100 {
			m.SetRGBA(x, y, color.RGBA{uint8(255 * (x / 50)), 100, 0, 255})
		}
	}
	small := scale(m, 10)
	if l, r := small.RGBAAt(0, 2), small.RGBAAt(9, 2); small.Bounds().Dy() != 5 || l != (color.RGBA{0, 100, 0, 255}) || r != (color.RGBA{255, 100, 0, 255}) {
		t.Errorf("left %v, right %v of %v", l, r, small.Bounds())
	}
}

// bomb is the header of a PNG of a huge size.
func bomb(w, h uint32) []byte {
	b := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")
	b = binary.BigEndian.AppendUint32(b, w)
	b = binary.BigEndian.AppendUint32(b, h)
	b = append(b, 8, 2, 0, 0, 0)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[12:]))
}

// webp is the header of a WebP image with canvas of a size.
func webp(w, h int) []byte {
	b := append([]byte("RIFF\x00\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00"), byte(w-1), byte((w-1)>>8), byte((w-1)>>16), byte(h-1), byte((h-1)>>8), byte((h-1)>>16))
	return append(b, make([]byte, 20)...)
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for want, url := range map[string]string{
		"not base64 data":         "data:image/png,abc",
		"not a PNG, JPEG":         dataURL("image/bmp", []byte("BM......")),
		"60000 × 60000 pixels":    dataURL("image/png", bomb(60_000, 60_000)),
		"damaged":                 dataURL("image/png", bomb(3_000, 3_000)),
		"WebP image of 3001 × 20": dataURL("image/webp", webp(3_001, 20)),
	} {
		if got, err := fitData(url, 2_000, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %.40s, %v", want, got, err)
		}
	}
	ok := dataURL("image/webp", webp(3_001, 20))
	if got, err := fitData(ok, 8_000, 1<<20); err != nil || got != ok {
		t.Errorf("a WebP image that fits: %v", err)
	}
}

func TestWebPSizes(t *testing.T) {
	t.Parallel()
	lossy := append([]byte("RIFF....WEBPVP8 ....\x00\x00\x00\x9d\x01\x2a"), 0x40, 0x41, 0x10, 0x00)
	lossless := append([]byte("RIFF....WEBPVP8L....\x2f"), 0x3F, 0xC0, 0x04, 0x00, 0, 0, 0, 0, 0, 0)
	for name, tt := range map[string]struct {
		b    []byte
		w, h int
	}{"lossy": {lossy, 0x140, 0x10}, "lossless": {lossless, 64, 20}, "extended": {webp(70_000, 3), 70_000, 3}} {
		w, h, ok := webpSize(base64.StdEncoding.EncodeToString(append(tt.b, make([]byte, 16)...)))
		if !ok || w != tt.w || h != tt.h {
			t.Errorf("%s: %d × %d, %v", name, w, h, ok)
		}
	}
}

// inner is a model that shows its requests.
type inner struct {
	info llm.Info
	mu   sync.Mutex
	got  []event.Message
}

func (i *inner) Info() llm.Info { return i.info }
func (i *inner) Generate(_ context.Context, r llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.got = r.Messages
	return &llm.Response{}, nil
}

func TestModel(t *testing.T) {
	t.Parallel()
	in := &inner{info: llm.Info{Provider: "anthropic", Vision: true}}
	m := New(in)
	large := dataURL("image/png", encoded(t, "png", image.NewGray(image.Rect(0, 0, 2_500, 100))))
	msgs := []event.Message{
		{Role: event.RoleUser, Content: event.List[event.Content]{event.Text("look"), event.Image(large, "https://x/y.png")}},
		{Role: event.RoleUser, Content: event.List[event.Content]{{Type: event.TypeImage, ImageURLs: []string{"data:broken"}, CachePrompt: true}}},
	}
	ask := func() {
		t.Helper()
		if _, err := llm.Complete(t.Context(), m, llm.Request{Messages: msgs}, nil); err != nil {
			t.Fatal(err)
		}
	}
	ask()
	if got := in.got[0].Content[1].ImageURLs; got[0] != large || got[1] != "https://x/y.png" {
		t.Error("an image that fits was changed")
	}
	if got := in.got[1].Content; len(got) != 1 || got[0].Text != "(An image was left out: its URL is not base64 data.)" || !got[0].CachePrompt {
		t.Errorf("in the place of the broken image: %+v", got)
	}
	if msgs[1].Content[0].Type != event.TypeImage {
		t.Error("the history was changed")
	}
	// More than twenty images: the bound is lower.
	for range 20 {
		msgs = append(msgs, event.Message{Role: event.RoleUser, Content: event.List[event.Content]{event.Image(large)}})
	}
	ask()
	first := in.got[0].Content[1].ImageURLs[0]
	if _, w, h := sizeOf(t, first); w != 2_000 || h != 80 {
		t.Errorf("one of many images is %d × %d", w, h)
	}
	before := m.cache.size
	ask()
	if m.cache.size != before || in.got[0].Content[1].ImageURLs[0] != first {
		t.Error("the second call made the image anew")
	}
	in.info.Vision = false
	ask()
	if &in.got[0] != &msgs[0] {
		t.Error("images for a model that does not see")
	}
}

func TestCacheBounded(t *testing.T) {
	t.Parallel()
	c := newCache(10_000)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 200 {
				k := key{strings.Repeat("x", i), 1}
				if r := c.get(k, func() result { return result{url: k.url + "!"} }); r.url != k.url+"!" {
					t.Errorf("result %q of %q", r.url, k.url)
				}
			}
		})
	}
	wg.Wait()
	if c.size > c.limit || c.size == 0 || len(c.entries) != c.order.Len() {
		t.Errorf("the cache holds %d bytes, %d entries, %d in order", c.size, len(c.entries), c.order.Len())
	}
}

func FuzzFit(f *testing.F) {
	f.Add("image/png", encoded(f, "png", noise(90, 5)), 14, 0)
	f.Add("image/jpeg", encoded(f, "jpeg", noise(20, 5)), 14, 300)
	f.Add("image/gif", encoded(f, "gif", noise(3, 5)), 14, 10)
	f.Add("image/webp", webp(10, 10), 14, 0)
	f.Add("image/png", bomb(60_000, 60_000), 14, 0)
	f.Fuzz(func(t *testing.T, media string, data []byte, side, maxBytes int) {
		if side != 0 && (side < smallest || side > 64) || maxBytes < 0 || strings.ContainsAny(media, ",;") {
			return
		}
		got, err := fitData(dataURL(media, data), side, maxBytes)
		if err != nil {
			return
		}
		_, b64, _ := strings.Cut(got, ";base64,")
		cfg, _, err := header(b64)
		if err != nil || side > 0 && max(cfg.Width, cfg.Height) > side || maxBytes > 0 && len(b64) > maxBytes {
			t.Errorf("%d × %d pixels, %d bytes, within %d and %d: %v", cfg.Width, cfg.Height, len(b64), side, maxBytes, err)
		}
	})
}
