package docker_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox/docker"
	sandboximage "github.com/deft-dev/deft/sandbox/image"
)

// removeAfter removes an image when the test has ended.
func removeAfter(t *testing.T, c *client.Client, name string) {
	t.Helper()
	t.Cleanup(func() {
		_, _ = c.ImageRemove(context.Background(), name, client.ImageRemoveOptions{Force: true}) // it may not have come that far
	})
}

// TestBuildImage builds once, and again when a file has changed.
func TestBuildImage(t *testing.T) {
	c := engine(t)
	p := provider(t, t.TempDir())
	dir := t.TempDir()
	for name, text := range map[string]string{
		"Dockerfile": "FROM " + image + "\nCOPY . /from-context\nRUN echo building-$((40+2))\n", ".dockerignore": "secret\n",
		"file": t.TempDir(), "secret": "no",
	} {
		must.Succeed(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	r := sandboximage.Request{
		Dockerfile: filepath.Join(dir, "Dockerfile"),
		ExtraDeps:  "echo listed: $(ls -A /from-context)",
	}
	var log []string
	progress := func(line string) { log = append(log, line) }
	name, err := p.BuildImage(t.Context(), r, progress)
	if err != nil {
		t.Fatal(err, log)
	}
	removeAfter(t, c, name)
	if !slices.Contains(log, "building-42") {
		t.Errorf("the log does not have the output: %q", log)
	}
	log = nil
	again, err := p.BuildImage(t.Context(), r, progress)
	if err != nil || again != name || len(log) > 0 {
		t.Errorf("built again: %q, %v, %q", again, err, log)
	}
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "file"), []byte("changed"+t.TempDir()), 0o644))
	changed, err := p.BuildImage(t.Context(), r, progress)
	if err != nil || changed == name || len(log) == 0 {
		t.Errorf("not built with another file: %q, %v", changed, err)
	}
	removeAfter(t, c, changed)
	found, err := c.ImageInspect(t.Context(), changed)
	must.Succeed(t, err)
	lock := changed[:strings.LastIndex(changed, "_")]
	for i, tag := range found.RepoTags { // Podman says where they are from
		found.RepoTags[i] = strings.TrimPrefix(tag, "docker.io/library/")
	}
	if !slices.Contains(found.RepoTags, lock) || len(found.RepoTags) != 3 {
		t.Errorf("tags %q, want %s among three", found.RepoTags, lock)
	}
	for _, tag := range found.RepoTags {
		removeAfter(t, c, tag)
	}
	if !slices.Contains(log, "listed: Dockerfile file") {
		t.Errorf("the context was another one: %q", log)
	}
}

// TestBuildFails names the step and its last output.
func TestBuildFails(t *testing.T) {
	engine(t)
	p := provider(t, t.TempDir())
	ignore := func(string) {}
	_, err := p.BuildImage(t.Context(), sandboximage.Request{Base: image, ExtraDeps: "echo first; echo no-such-package >&2; exit 3"}, ignore)
	if !fault.Is(err, fault.Invalid) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"(?i)step 3/[34] ?: RUN", "no-such-package", "(code:|exit status) 3"} { // Docker's words, or Podman's
		if !regexp.MustCompile(want).MatchString(err.Error()) {
			t.Errorf("%q is missing in %v", want, err)
		}
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "Dockerfile")
	must.Succeed(t, os.WriteFile(file, []byte("FROM "+image+"\nNONSENSE x\n"), 0o644))
	if _, err := p.BuildImage(t.Context(), sandboximage.Request{Dockerfile: file}, ignore); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "NONSENSE") {
		t.Errorf("nonsense in the Dockerfile: %v", err)
	}
	must.Succeed(t, os.WriteFile(file, []byte("FROM "+image+"\nRUN --mount=type=cache,target=/x true\n"), 0o644))
	if _, err := p.BuildImage(t.Context(), sandboximage.Request{Dockerfile: file}, ignore); err != nil && !strings.Contains(fault.HintOf(err), "`docker build`") { // Podman's has such mounts
		t.Errorf("an instruction of another builder: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = p.BuildImage(ctx, sandboximage.Request{Base: image, ExtraDeps: "echo waiting; sleep 1000"}, func(line string) {
		if line == "waiting" {
			cancel()
		}
	})
	cancel()
	if !fault.Is(err, fault.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

// TestBuiltImages lists and removes the images built for a provider, and nothing
// else.
func TestBuiltImages(t *testing.T) {
	c := engine(t)
	p, other := provider(t, t.TempDir()), provider(t, t.TempDir())
	ignore := func(string) {}
	name, err := p.BuildImage(t.Context(), sandboximage.Request{Base: image, ExtraDeps: ": " + t.TempDir()}, ignore)
	must.Succeed(t, err)
	removeAfter(t, c, name)
	// A user builds from it, and gives it another name.
	mine, err := other.BuildImage(t.Context(), sandboximage.Request{Base: name, ExtraDeps: ": more"}, ignore)
	must.Succeed(t, err)
	removeAfter(t, c, mine)
	const named = "deft-test-named:1"
	if _, err := c.ImageTag(t.Context(), client.ImageTagOptions{Source: mine, Target: named}); err != nil {
		t.Fatal(err)
	}
	removeAfter(t, c, named)
	got, err := p.BuiltImages(t.Context())
	if err != nil || len(got) != 1 || got[0].Name != name || got[0].Bytes == 0 || got[0].Created.IsZero() {
		t.Fatalf("built for the first: %+v, %v", got, err)
	}
	theirs, err := other.BuiltImages(t.Context())
	if err != nil || len(theirs) != 1 || theirs[0].Name != mine {
		t.Fatalf("built for the second: %+v, %v", theirs, err)
	}
	must.Report(t, other.RemoveBuiltImage(t.Context(), theirs[0]))
	if _, err := c.ImageInspect(t.Context(), named); err != nil {
		t.Errorf("the name of a user: %v", err)
	}
	if again, err := other.BuiltImages(t.Context()); err != nil || len(again) != 0 {
		t.Errorf("after it was removed: %+v, %v", again, err)
	}
	// One that a container uses stays.
	made, err := c.ContainerCreate(t.Context(), client.ContainerCreateOptions{Config: &container.Config{Image: named, Cmd: []string{"true"}}})
	must.Succeed(t, err)
	if _, err := c.ImageTag(t.Context(), client.ImageTagOptions{Source: named, Target: mine}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.ImageRemove(t.Context(), named, client.ImageRemoveOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := other.RemoveBuiltImage(t.Context(), theirs[0]); !fault.Is(err, fault.Conflict) {
		t.Errorf("one that a container uses: %v", err)
	}
	if _, err := c.ContainerRemove(t.Context(), made.ID, client.ContainerRemoveOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	for _, b := range []struct {
		p *docker.Provider
		b sandboximage.Built
	}{{other, theirs[0]}, {p, got[0]}, {p, got[0]}} { // twice is no error
		must.Report(t, b.p.RemoveBuiltImage(t.Context(), b.b))
	}
	if _, err := c.ImageInspect(t.Context(), name); err == nil {
		t.Error("the image is still there")
	}
	if _, err := c.ImageInspect(t.Context(), image); err != nil {
		t.Errorf("the base: %v", err)
	}
}
