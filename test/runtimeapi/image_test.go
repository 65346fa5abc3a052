package runtimeapi_test

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// library is a line of ldd: what a program loads.
var library = regexp.MustCompile(`(?m)^\s+(?:\S+ => )?(/\S+) \(0x`)

// gitImage makes an image from the usual one that has this machine's git, too: the files of
// a workspace inside are looked at inside.
func gitImage(t *testing.T, docker string) string {
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
	var context bytes.Buffer
	w := tar.NewWriter(&context)
	add := func(name string, mode int64, content []byte) {
		t.Helper()
		err := w.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: int64(len(content))})
		if err == nil {
			_, err = w.Write(content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	add("Dockerfile", 0o644, []byte("FROM "+image+"\nCOPY root/ /\n"))
	for inside, path := range files {
		if path, err = filepath.EvalSymlinks(path); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		add(inside, 0o755, content)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	answer, err := ofEngine(docker).Post("http://docker/build?t="+name, "application/x-tar", &context)
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
