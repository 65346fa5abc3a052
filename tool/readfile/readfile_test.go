package readfile_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/tool/files"
	"github.com/deft-dev/deft/tool/files/filestest"
	"github.com/deft-dev/deft/tool/readfile"
)

func read(path string) event.Action { return &event.ReadFileAction{FilePath: path} }

func TestReadFile(t *testing.T) {
	t.Parallel()
	filestest.Run(t, filestest.Tool{New: readfile.New, Read: read})
}

func TestPages(t *testing.T) {
	t.Parallel()
	b := filestest.NewBench(t, files.Config{MaxResponse: 40_000}, readfile.New)
	b.Write("long", strings.Repeat("x\n", 2500))
	b.Write("short", "one\ntwo\nthree\n")
	b.Write("wide", strings.Repeat(strings.Repeat("y", 30_000)+"\n", 3))
	b.Write("empty", "")
	for name, c := range map[string]struct {
		path          string
		offset, limit *int
		shown         []int // nil for all
		total         int
		text          string
	}{
		"all":             {"short", nil, nil, nil, 3, "     1\tone\n     2\ttwo\n     3\tthree\n"},
		"by default 1000": {"long", nil, nil, []int{1, 1000}, 2500, ""},
		"a page":          {"long", new(1000), new(7), []int{1001, 1007}, 2500, ""},
		"the last page":   {"long", new(2400), new(1 << 62), nil, 2500, ""},
		"one line":        {"short", new(1), new(1), []int{2, 2}, 3, "     2\ttwo\n"},
		"long lines":      {"wide", nil, nil, []int{1, 1}, 3, ""},
	} {
		t.Run(name, func(t *testing.T) {
			obs := b.Run(&event.ReadFileAction{FilePath: c.path, Offset: c.offset, Limit: c.limit}).(*event.ReadFileObservation)
			if obs.IsError || obs.IsTruncated != (c.shown != nil) || *obs.TotalLines != c.total || obs.FilePath != b.Path(c.path) {
				t.Fatalf("%+v", obs)
			}
			if diff := cmp.Diff(c.shown, obs.LinesShown); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
			if c.text != "" && obs.FileContent != c.text {
				t.Errorf("%q", obs.FileContent)
			}
		})
	}
	if got := b.OK(read("empty")); !strings.Contains(got, "is empty") {
		t.Errorf("%q", got)
	}
	b.Fails(&event.ReadFileAction{FilePath: "short", Offset: new(3)}, "has 3 lines")
	b.Fails(read("shrot"), "does not exist")
	b.Write("binary", "\x7fELF\x00")
	b.Fails(read("binary"), "binary")
	for _, bad := range []string{`{"file_path":"f","offset":-1}`, `{"file_path":"f","limit":0}`} {
		if _, err := readfile.Definition().Decode([]byte(bad)); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}
