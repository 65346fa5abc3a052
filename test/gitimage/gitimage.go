// Package gitimage makes the image of tests that need git in a container. It builds it from
// the image of `make deps` and this machine's git, with the engine's own builder.
package gitimage

import (
	"archive/tar"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// library is a line of ldd: a library of a program.
var library = regexp.MustCompile(`(?m)^\s+(?:\S+ => )?(/\S+) \(0x`)

// base is the image that it is made from.
const base = "deft-test-busybox:1"

// Make makes the image with the engine at an address, unix://PATH, and returns its name. The
// files of a workspace inside are looked at inside.
func Make(t testing.TB, docker string) string {
	t.Helper()
	const name = "deft-test-git:1"
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	listed, err := exec.CommandContext(t.Context(), "ldd", git).Output()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"root/bin/git": git}
	for _, m := range library.FindAllStringSubmatch(string(listed), -1) {
		files["root"+m[1]] = m[1]
	}
	var content bytes.Buffer
	w := tar.NewWriter(&content)
	add := func(name string, mode int64, b []byte) {
		t.Helper()
		err := w.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: int64(len(b))})
		if err == nil {
			_, err = w.Write(b)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	add("Dockerfile", 0o644, []byte("FROM "+base+"\nCOPY root/ /\n"))
	for inside, path := range files {
		if path, err = filepath.EvalSymlinks(path); err != nil {
			t.Fatal(err)
		}
		program, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		add(inside, 0o755, program)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	engine := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", strings.TrimPrefix(docker, "unix://"))
	}}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://docker/build?t="+name, &content)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-tar")
	answer, err := engine.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	if err != nil || !strings.Contains(string(said), "Successfully tagged") {
		t.Fatalf("build: %s %s, %v", answer.Status, said, err)
	}
	return name
}
