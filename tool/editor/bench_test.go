package editor_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/editor"
)

// BenchmarkReplace is one durable edit of a file of 50 kB.
func BenchmarkReplace(b *testing.B) {
	dir := b.TempDir()
	path := filepath.Join(dir, "f")
	if err := os.WriteFile(path, []byte("mark 0\n"+strings.Repeat("some line of code\n", 2800)), 0o644); err != nil {
		b.Fatal(err)
	}
	x, err := editor.New(editor.Config{Workspace: dir, UndoDir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	i := 0
	for b.Loop() {
		action := replace(path, fmt.Sprintf("mark %d\n", i), fmt.Sprintf("mark %d\n", i+1))
		obs, err := x.Execute(b.Context(), tool.Call{Action: &action})
		if err != nil || obs.Result().IsError {
			b.Fatal(obs.Result().Content, err)
		}
		i++
	}
}

// BenchmarkView shows a file of 50 kB.
func BenchmarkView(b *testing.B) {
	dir := b.TempDir()
	path := filepath.Join(dir, "f")
	if err := os.WriteFile(path, []byte(strings.Repeat("some line of code\n", 2800)), 0o644); err != nil {
		b.Fatal(err)
	}
	x, err := editor.New(editor.Config{Workspace: dir, UndoDir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		action := view(path)
		if obs, err := x.Execute(b.Context(), tool.Call{Action: &action}); err != nil || obs.Result().IsError {
			b.Fatal(err)
		}
	}
}
