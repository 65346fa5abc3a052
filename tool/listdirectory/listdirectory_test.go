package listdirectory_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool/files"
	"github.com/deft-dev/deft/tool/files/filestest"
	"github.com/deft-dev/deft/tool/listdirectory"
)

func list(path string, recursive bool) event.Action {
	return &event.ListDirectoryAction{DirPath: path, Recursive: recursive}
}

func TestListDirectory(t *testing.T) {
	t.Parallel()
	b := filestest.NewBench(t, files.Config{}, listdirectory.New)
	b.Write("b.txt", "12345")
	b.Write("a/deep/er/f", "")
	b.Write(".hidden", "")
	must.Succeed(t, os.Symlink(".", b.Path("self")))
	for name, c := range map[string]struct {
		path      string
		recursive bool
		want      []string
	}{
		"one level":   {".", false, []string{".hidden 0", "a/", "b.txt 5", "self 0"}},
		"by default":  {"", false, []string{".hidden 0", "a/", "b.txt 5", "self 0"}},
		"two levels":  {b.Dir, true, []string{".hidden 0", "a/", "deep/", "b.txt 5", "self 0"}},
		"over a link": {"self/a", false, []string{"deep/"}},
	} {
		t.Run(name, func(t *testing.T) {
			obs := b.Run(list(c.path, c.recursive)).(*event.ListDirectoryObservation)
			var got []string
			for _, e := range obs.Entries {
				one := fmt.Sprintf("%s %d", e.Name, e.Size)
				if e.IsDirectory {
					one = e.Name + "/"
				}
				got = append(got, one)
				if !strings.Contains(event.JoinText(obs.Content), e.Path) || len(e.ModifiedTime) != 26 {
					t.Errorf("%+v is not shown", e)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" || obs.IsError || obs.TotalCount != len(got) || obs.IsTruncated {
				t.Errorf("%+v (-want +got):\n%s", obs, diff)
			}
		})
	}
	for path, want := range map[string]string{"b.txt": "is not a directory", "none": "does not exist", "/proc/self": "not shown", "/proc/1": "not shown"} {
		b.Fails(list(path, true), want)
	}
	for i := range 600 {
		b.Write(fmt.Sprintf("many/%d", i), "")
	}
	obs := b.Run(list("many", true)).(*event.ListDirectoryObservation)
	if obs.IsError || !obs.IsTruncated || obs.TotalCount != listdirectory.MaxEntries || len(obs.Entries) != obs.TotalCount {
		t.Errorf("%d of %d entries", len(obs.Entries), obs.TotalCount)
	}
}
