package build

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/session"
)

func TestCommandEnv(t *testing.T) {
	t.Parallel()
	got := CommandEnv([]string{
		"PATH=/bin", "HOME=/h", "LC_ALL=C", "LLM_API_KEY=k", "AWS_SECRET_ACCESS_KEY=k", "EDITOR=vi",
		"GOPROXY=https://user:secret@proxy.example,direct", "GOFLAGS=-mod=mod", "GOPRIVATE=corp/*", "BROKEN",
	})
	want := []string{"PATH=/bin", "HOME=/h", "LC_ALL=C", "GOFLAGS=-mod=mod", "GOPRIVATE=corp/*"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestDefaultEnv: commands of all conversations get the variables of the server's
// configuration; a conversation's own count more.
func TestDefaultEnv(t *testing.T) {
	t.Parallel()
	b, err := New(Options{
		Dir: t.TempDir(), Env: []string{"PATH=/bin", "LANG=C"},
		Defaults: session.Placement{SandboxClass: sandbox.None.Name, Env: []string{"LANG=C.UTF-8", "REGION=eu"}},
	})
	must.Succeed(t, err)
	t.Cleanup(func() { must.Report(t, b.Close()) })
	for name, c := range map[string]struct{ own, want []string }{
		"plain": {nil, []string{"PATH=/bin", "LANG=C.UTF-8", "REGION=eu"}},
		"own":   {[]string{"REGION=us"}, []string{"PATH=/bin", "LANG=C.UTF-8", "REGION=us"}},
	} {
		got, _ := b.environment(t.Context(), session.BuildRequest{Placement: session.Placement{Env: c.own}})
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
