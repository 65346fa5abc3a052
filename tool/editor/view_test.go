package editor_test

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"os"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool/files"
)

func TestViewNumbersLines(t *testing.T) {
	t.Parallel()
	b := setup(t, files.Config{})
	path := b.write("f", "one\n\n\tthree\r\nfour")
	tests := map[string]struct {
		span []int
		want string
	}{
		"all":          {nil, ", lines 1 to 4 of 4:\n     1\tone\n     2\t\n     3\t\tthree\n     4\tfour\n"},
		"some":         {[]int{2, 3}, ", lines 2 to 3 of 4:\n     2\t\n     3\t\tthree\n"},
		"to the end":   {[]int{3, -1}, ", lines 3 to 4 of 4:\n     3\t\tthree\n     4\tfour\n"},
		"past the end": {[]int{4, 99}, ", lines 4 to 4 of 4:\n     4\tfour\n"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := b.ok(view(path, tc.span...)); got != path+tc.want {
				t.Errorf("got %q, want %q", got, path+tc.want)
			}
		})
	}
	b.fails(view(path, 5, 6), "lines of", "1 to 4")
	b.fails(view(path, 0, 2), "starts at line 0")
	b.fails(view(path, 3, 2), "before it starts")
	b.fails(view(path, 3), "two integers")
	if got := b.ok(view(b.write("empty", ""))); !strings.Contains(got, "is empty") {
		t.Errorf("empty file: %q", got)
	}
	if got := b.ok(view(b.write("latin", "caf\xe9\n"))); !strings.Contains(got, "café") || !strings.Contains(got, "Windows-1252") {
		t.Errorf("latin file: %q", got)
	}
}

func TestViewIsClipped(t *testing.T) {
	t.Parallel()
	b := setup(t, files.Config{MaxResponse: 100})
	path := b.write("f", strings.Repeat("0123456789\n", 50))
	got := b.ok(view(path))
	if strings.Count(got, "0123456789") != 5 || !strings.Contains(got, "view_range [6, 50]") {
		t.Errorf("got %q", got)
	}
	long := b.write("long", strings.Repeat("x", 1000)+"\nsecond\n")
	if got := b.ok(view(long)); len(got) > 400 || !strings.Contains(got, "line 1 has") || !strings.Contains(got, "view_range [2, 2]") {
		t.Errorf("got %q", got)
	}
}

func TestViewDirectory(t *testing.T) {
	t.Parallel()
	b := setup(t, files.Config{})
	b.write("b.txt", "")
	b.write("a/c/d.txt", "")
	b.write("a/e.txt", "")
	b.write(".git/config", "")
	b.write("a/.hidden", "")
	must.Succeed(t, os.Symlink(".", b.path("self")))
	want := b.dir + "/, two levels, without hidden entries:\n" +
		b.path("a") + "/\n" + b.path("a/c") + "/\n" + b.path("a/e.txt") + "\n" + b.path("b.txt") + "\n" + b.path("self") + "@\n" +
		"[2 hidden entries not shown.]\n"
	if got := b.ok(view(b.dir)); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	b.fails(view(b.dir, 1, 2), "is a directory")
	b.fails(replace(b.dir, "a", "b"), "is a directory")
	for i := range 1200 {
		b.write(fmt.Sprintf("many/%d", i), "")
	}
	if got := b.ok(view(b.path("many"))); !strings.Contains(got, "[Clipped") || len(got) > 20_000 {
		t.Errorf("a large directory gives %d bytes", len(got))
	}
}

func TestViewImages(t *testing.T) {
	t.Parallel()
	b := setup(t, files.Config{})
	var buf bytes.Buffer
	must.Succeed(t, png.Encode(&buf, image.NewGray(image.Rect(0, 0, 2, 2))))
	obs := b.run(view(b.write("x.png", buf.String())))
	if obs.IsError || len(obs.Content) != 2 || !strings.HasPrefix(obs.Content[1].ImageURLs[0], "data:image/png;base64,iVBOR") {
		t.Errorf("observation %+v", obs)
	}
	b.fails(view(b.write("x.bin", "\x7fELF\x00\x01")), "binary file")
	b.fails(replace(b.path("x.png"), "a", "b"), "binary file")
	if got := b.ok(view(b.write("car.txt", "BMW and others\n"))); !strings.Contains(got, "BMW") {
		t.Errorf("a text that starts like a bitmap: %q", got)
	}
}
