package installation_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/server/agentserver/installation"
)

// load takes the name of a thing from the file "name".
func load(dir string) (installation.Described, error) {
	b, err := os.ReadFile(filepath.Join(dir, "name"))
	if err != nil {
		return installation.Described{}, fault.New(fault.Invalid, "no name")
	}
	return installation.Described{Name: string(b)}, nil
}

func thing(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "name"), []byte(name), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestLinks(t *testing.T) {
	t.Parallel()
	for target, fine := range map[string]bool{
		"name": true, "../../etc/passwd": false, "/etc/passwd": false, "sub/../../x": false,
	} {
		dir := thing(t, "a")
		if err := os.Symlink(target, filepath.Join(dir, "link")); err != nil {
			t.Fatal(err)
		}
		s := installation.New(filepath.Join(t.TempDir(), "installed"), load)
		_, err := s.Install(t.Context(), installation.Source{Source: dir}, false)
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
		s := installation.New(t.TempDir(), load)
		if _, err := s.Install(t.Context(), installation.Source{Source: thing(t, name)}, true); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: error %v", name, err)
		}
		if err := s.Uninstall(name); !fault.Is(err, fault.NotFound) {
			t.Errorf("uninstall %q: error %v", name, err)
		}
	}
}

// TestFound puts things into the directory and takes them out by hand.
func TestFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := installation.New(dir, load)
	if list, err := installation.New(filepath.Join(dir, "none"), load).List(); err != nil || len(list) != 0 {
		t.Errorf("an absent directory: %v, %v", list, err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".installed.json"), []byte("{broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		if err := os.Rename(thing(t, "a"), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	list, err := s.List()
	if err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	list[0].InstalledAt = ""
	want := installation.Info{Name: "a", Enabled: true, Source: "local", InstallPath: filepath.Join(dir, "a")}
	if diff := cmp.Diff(want, list[0]); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
	if err := os.RemoveAll(filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get("a"); !fault.Is(err, fault.NotFound) {
		t.Errorf("error %v", err)
	}
}

func TestSources(t *testing.T) {
	t.Parallel()
	s := installation.New(t.TempDir(), load)
	path := "x"
	for _, from := range []installation.Source{
		{Source: "github:owner"}, {Source: "github:/x"}, {Source: "github:a/b/c", RepoPath: &path},
		{Source: "ftp://x/y"}, {Source: "a\x00b/"}, {Source: "."}, {Source: "/", RepoPath: &path},
	} {
		_, err := s.Install(t.Context(), from, false)
		if from.Source == "." { // this directory has no file "name"
			if !fault.Is(err, fault.Invalid) {
				t.Errorf("%q: error %v", from.Source, err)
			}
			continue
		}
		if !errors.Is(err, installation.ErrFetch) {
			t.Errorf("%q: error %v", from.Source, err)
		}
	}
	for source, want := range map[string]string{
		"https://user:token@h/r.git": "https://****@h/r.git", "https://h/r@x": "https://h/r@x", "/a@b": "/a@b", "git@h:r": "git@h:r",
	} {
		if got := installation.Shown(source); got != want {
			t.Errorf("Shown(%q) = %q", source, got)
		}
	}
	for _, u := range []string{"ext::sh", "-x", "https://-x", "a@-b:c", "a@b:-c", "a@b::c"} {
		if installation.IsGitURL(u) {
			t.Errorf("%q is taken for a repository", u)
		}
	}
	if _, err := installation.Clone(t.Context(), "https://user:token@127.0.0.1:1/r.git", "", filepath.Join(t.TempDir(), "r")); !errors.Is(err, installation.ErrFetch) || strings.Contains(err.Error(), "token") {
		t.Errorf("error %v", err)
	}
}
