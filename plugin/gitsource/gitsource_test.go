package gitsource_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/gitfetch"
	"github.com/deft-dev/deft/plugin/gitsource"
)

func TestShown(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"https://user:token@h/r.git": "https://****@h/r.git", "https://h/r@x": "https://h/r@x", "/a@b": "/a@b", "git@h:r": "git@h:r",
	} {
		if got := gitsource.Shown(source); got != want {
			t.Errorf("Shown(%q) = %q", source, got)
		}
	}
	for _, u := range []string{"ext::sh", "-x", "https://-x", "a@-b:c", "a@b:-c", "a@b::c"} {
		if gitfetch.IsURL(u) {
			t.Errorf("%q is taken for a repository", u)
		}
	}
	if _, err := gitsource.Clone(t.Context(), "https://user:token@127.0.0.1:1/r.git", "", filepath.Join(t.TempDir(), "r")); !errors.Is(err, gitsource.ErrFetch) || strings.Contains(err.Error(), "token") {
		t.Errorf("error %v", err)
	}
}

func TestLocal(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]bool{
		"/a": true, "~/a": true, "./a": true, "a": true, " /a": true, "file:///a": true, "FILE:///a": true, "": true,
		"github:a/b": false, "https://h/a": false, "git@h:a/b": false, "ssh://h/a": false,
	} {
		if got := (gitsource.Source{Source: source}).Local(); got != want {
			t.Errorf("%q: %v", source, got)
		}
	}
}
