package permission_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/settings/permission"
)

// TestStore keeps one answer for each file, which is for its content alone.
func TestStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := permission.Open(dir, nil)
	q := permission.Question{Project: "/p", File: "hooks.json", Content: []byte("a")}
	other, open, elsewhere, file := q, q, q, q
	other.Content, open.Unsandboxed, elsewhere.Project, file.File = []byte("b"), true, "/q", ".mcp.json"
	for _, step := range []permission.Answer{permission.None, permission.Allowed, permission.Refused, permission.None, permission.Allowed} {
		must.Succeed(t, s.Keep(t.Context(), q, step))
		for _, store := range []*permission.Store{s, permission.Open(dir, nil)} {
			got, err := store.Answer(q)
			if err != nil || got != step {
				t.Errorf("%q, %v, want %q", got, err, step)
			}
			for _, one := range []permission.Question{other, open, elsewhere, file} {
				if got, err := store.Answer(one); err != nil || got != permission.None {
					t.Errorf("%+v: %q, %v, want no answer", one, got, err)
				}
			}
		}
	}
	if st, err := os.Stat(filepath.Join(dir, "project_answers.json")); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", st, err)
	}
	must.Succeed(t, s.Keep(t.Context(), other, permission.Refused))
	if got, err := s.Answer(q); err != nil || got != permission.None {
		t.Errorf("the content before: %q, %v, want no answer", got, err)
	}
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "project_answers.json"), []byte("{"), 0o600))
	if got, err := s.Answer(other); !fault.Is(err, fault.Corrupt) || got != permission.None {
		t.Errorf("damaged: %q, %v, want an error of kind Corrupt", got, err)
	}
	if err := s.Keep(t.Context(), other, permission.Allowed); err == nil {
		t.Error("a damaged file is overwritten")
	}
}
