package build

import (
	"testing"

	"github.com/google/go-cmp/cmp"
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
