// Package custombuild builds Deft with packages of other modules linked in: a custom
// executor, agent, runtime, sandbox or tool without a fork.
//
// # Usage
//
//	err := custombuild.Build(ctx, custombuild.Options{
//		Source: "/src/deft", With: []custombuild.Module{{Path: "example.com/deploy", Version: "v1.2.0"}},
//		Output: "/usr/local/bin/deft", Log: os.Stderr,
//	})
//
// It copies Deft's source, adds a file that imports the packages, whose init functions
// register their classes (session/build.Register), and has the Go toolchain build it.
// The source itself is not changed.
//
// # Concurrency and failure
//
// Build is safe for concurrent use. It fails with fault.Unsupported if there is no Go
// toolchain, and with fault.Invalid, behind the toolchain's own messages in Log, if a
// module does not exist or does not compile. An existing Output is then left as it was.
package custombuild

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/format"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/lazyregexp"
)

// deft is the module that is built.
const deft = "github.com/deft-dev/deft"

// Module is a package to link in.
type Module struct {
	// Path is its import path.
	Path string
	// Version is the part behind the @ of `go get`: a version, a branch, a commit;
	// default: the newest.
	Version string
	// Dir is a directory with the module's source, to use in place of a version.
	Dir string
}

// ParseModule reads PATH, PATH@VERSION or PATH=DIR. The error is of kind fault.Invalid.
func ParseModule(text string) (Module, error) {
	m := Module{Path: text}
	if path, dir, ok := strings.Cut(text, "="); ok {
		abs, err := filepath.Abs(dir)
		if err != nil || dir == "" {
			return m, fault.New(fault.Invalid, strconv.Quote(text)+" names no directory").Because(err)
		}
		m.Path, m.Dir = path, abs
	} else if path, version, ok := strings.Cut(text, "@"); ok {
		m.Path, m.Version = path, version
		if version == "" || strings.HasPrefix(version, "-") || strings.ContainsFunc(version, func(r rune) bool { return r <= ' ' || r == '"' }) {
			return m, fault.New(fault.Invalid, strconv.Quote(text)+" names no version")
		}
	}
	if !importPath().MatchString(m.Path) {
		return m, fault.New(fault.Invalid, strconv.Quote(text)+" names no Go module").
			Hint("give its import path, for example example.com/deploy@v1.2.0 or example.com/deploy=../deploy")
	}
	return m, nil
}

// importPath is somewhat wider than the toolchain's rule, which reports the rest
// itself; it begins no flag and needs no quotes.
var importPath = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._~-]*(/[A-Za-z0-9._~-]+)*$`)

// Options describe the build.
type Options struct {
	// Source is a directory with Deft's source; "" for the source of Version.
	Source string
	// Version of Deft, as the module proxy knows it.
	Version string
	With    []Module
	// Output is the program's file.
	Output string
	// Log gets the toolchain's output.
	Log io.Writer
}

// Build builds the program.
func Build(ctx context.Context, o Options) (err error) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		return fault.New(fault.Unsupported, "there is no Go toolchain").Hint("install Go from https://go.dev/dl").Because(err)
	}
	output, err := filepath.Abs(o.Output)
	if err != nil {
		return fmt.Errorf("find the output's directory: %w", err)
	}
	dir, err := os.MkdirTemp("", "deft-build-")
	if err != nil {
		return fmt.Errorf("make a directory for the build: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	b := builder{ctx, goTool, dir, o.Log}
	source := o.Source
	if source == "" {
		if source, err = b.download(o.Version); err != nil {
			return err
		}
	}
	if path, err := b.modulePath(source); err != nil || path != deft {
		return fault.New(fault.Invalid, source+" does not hold the source of Deft").Hint("name a checkout with --source DIR").Because(err)
	}
	if err := copySource(ctx, dir, source); err != nil {
		return fmt.Errorf("copy the source of Deft: %w", err)
	}
	for _, m := range o.With {
		if err := b.add(m); err != nil {
			return err
		}
	}
	text, err := imports(o.With)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "cmd", "deft", "with.go"), text, 0o600); err != nil {
		return fmt.Errorf("write the imports: %w", err)
	}
	built := filepath.Join(dir, "deft.built")
	if err := b.goCommand("build", "-mod=mod", "-trimpath", "-buildvcs=false", "-o", built, "./cmd/deft"); err != nil {
		return err
	}
	return install(built, output)
}

// imports is the file that links the packages in.
func imports(with []Module) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("package main\n\nimport (\n")
	for _, m := range with {
		fmt.Fprintf(&b, "\t_ %q\n", m.Path)
	}
	b.WriteString(")\n\nfunc init() {\n")
	for _, m := range with {
		name := m.Path
		if m.Version != "" {
			name += "@" + m.Version
		}
		fmt.Fprintf(&b, "\tlinkedIn = append(linkedIn, %q)\n", name)
	}
	b.WriteString("}\n")
	return format.Source(b.Bytes())
}

// copySource copies the files of a module. Directories that no build reads stay out.
func copySource(ctx context.Context, to, from string) error {
	return filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case e.IsDir() && rel != "." && (strings.HasPrefix(e.Name(), ".") || e.Name() == "node_modules"):
			return filepath.SkipDir
		case e.IsDir():
			return os.MkdirAll(target, 0o700)
		case !e.Type().IsRegular():
			return nil
		}
		return copyFile(target, path, 0o600)
	})
}

func copyFile(to, from string, mode fs.FileMode) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// install puts the program in place at once: an old one may be running.
func install(built, output string) error {
	fresh := output + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("install the program: %w", err)
	}
	if err := copyFile(fresh, built, 0o755); err != nil {
		return errors.Join(fmt.Errorf("install the program: %w", err), ignoreMissing(os.Remove(fresh)))
	}
	if err := os.Rename(fresh, output); err != nil {
		return errors.Join(fmt.Errorf("install the program: %w", err), os.Remove(fresh))
	}
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
