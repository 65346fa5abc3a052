package installed_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/plugin/gitsource"
	"github.com/deft-dev/deft/plugin/installed"
)

// load takes the name of a thing from the file "name".
func load(dir string) (name, version, description string, err error) {
	b, err := os.ReadFile(filepath.Join(dir, "name"))
	if err != nil {
		return "", "", "", fault.New(fault.Invalid, "no name")
	}
	return string(b), "", "", nil
}

func thing(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "name"), []byte(name), 0o644))
	return dir
}

func TestLinks(t *testing.T) {
	t.Parallel()
	for target, fine := range map[string]bool{
		"name": true, "../../etc/passwd": false, "/etc/passwd": false, "sub/../../x": false,
	} {
		dir := thing(t, "a")
		must.Succeed(t, os.Symlink(target, filepath.Join(dir, "link")))
		s := installed.New(filepath.Join(t.TempDir(), "installed"), load)
		_, err := s.Install(t.Context(), gitsource.Source{Source: dir}, false, nil)
		if fine != (err == nil) || err != nil && !fault.Is(err, fault.Invalid) {
			t.Errorf("a link to %s: %v", target, err)
		}
		if list, err := s.List(); err != nil || len(list) == 1 != fine {
			t.Errorf("a link to %s: %v, %v", target, list, err)
		}
		left, err := os.ReadDir(s.Dir())
		for _, e := range left {
			if strings.HasPrefix(e.Name(), ".new") {
				t.Errorf("left behind: %s, %v", e.Name(), err)
			}
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "A", "a b", "../x", "a/b", ".hidden", "-a", "a--b", "a-"} {
		s := installed.New(t.TempDir(), load)
		if _, err := s.Install(t.Context(), gitsource.Source{Source: thing(t, name)}, true, nil); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: error %v", name, err)
		}
		if err := s.Uninstall(t.Context(), name); !fault.Is(err, fault.NotFound) {
			t.Errorf("uninstall %q: error %v", name, err)
		}
	}
}

// TestAskedByName shows a thing in a directory of its name, from which it may have it.
func TestAskedByName(t *testing.T) {
	t.Parallel()
	s := installed.New(t.TempDir(), load)
	var shown []string
	confirm := func(dir string, _ installed.Info) error {
		shown = append(shown, filepath.Base(dir))
		return nil
	}
	for _, name := range []string{"ready", "old", "mine"} {
		_, err := s.Install(t.Context(), gitsource.Source{Source: thing(t, name)}, false, confirm)
		must.Succeed(t, err)
		_, err = s.Update(t.Context(), name, confirm)
		must.Succeed(t, err)
	}
	if d := cmp.Diff([]string{"ready", "ready", "old", "old", "mine", "mine"}, shown); d != "" {
		t.Errorf("directories (-want +got):\n%s", d)
	}
}

// TestFound puts things into the directory and takes them out by hand.
func TestFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := installed.New(dir, load)
	if list, err := installed.New(filepath.Join(dir, "none"), load).List(); err != nil || len(list) != 0 {
		t.Errorf("an absent directory: %v, %v", list, err)
	}
	for _, name := range []string{"a", "b"} {
		must.Succeed(t, os.Rename(thing(t, "a"), filepath.Join(dir, name)))
	}
	list, err := s.List()
	if err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	list[0].InstalledAt = ""
	want := installed.Info{Name: "a", Enabled: true, Source: "local", InstallPath: filepath.Join(dir, "a")}
	if diff := cmp.Diff(want, list[0]); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
	record := filepath.Join(dir, ".installed.json")
	must.Succeed(t, os.WriteFile(record, []byte("{broken"), 0o600))
	if _, err := s.List(); !fault.Is(err, fault.Corrupt) {
		t.Errorf("a broken record: %v", err)
	}
	if err := s.SetEnabled(t.Context(), "a", false); !fault.Is(err, fault.Corrupt) {
		t.Errorf("a broken record: %v", err)
	}
	if b, err := os.ReadFile(record); err != nil || string(b) != "{broken" {
		t.Errorf("the broken record is now %s, %v", b, err)
	}
	must.Succeed(t, os.Remove(record))
	must.Succeed(t, os.RemoveAll(filepath.Join(dir, "a")))
	if _, err := s.Get("a"); !fault.Is(err, fault.NotFound) {
		t.Errorf("error %v", err)
	}
}

func TestSources(t *testing.T) {
	t.Parallel()
	s := installed.New(t.TempDir(), load)
	path := "x"
	for _, from := range []gitsource.Source{
		{Source: "github:owner"}, {Source: "github:/x"}, {Source: "github:a/b/c", RepoPath: &path},
		{Source: "ftp://x/y"}, {Source: "a\x00b/"}, {Source: "."}, {Source: "/", RepoPath: &path},
	} {
		_, err := s.Install(t.Context(), from, false, nil)
		if from.Source == "." { // this directory has no file "name"
			if !fault.Is(err, fault.Invalid) {
				t.Errorf("%q: error %v", from.Source, err)
			}
			continue
		}
		if !errors.Is(err, gitsource.ErrFetch) {
			t.Errorf("%q: error %v", from.Source, err)
		}
	}
}
