// Package image describes the images that a user asks to be built for sandboxes: from
// a Dockerfile, or from an image with further dependencies. It has their instructions
// and names; a [Builder] builds them: sandbox/docker on an engine.
//
// # Usage
//
//	plan, err := image.NewPlan(image.Request{Dockerfile: "/work/Dockerfile"}, baseID)
//	defer plan.Close()
//	plan.Tags()               // if the engine has the first one, nothing has to be built
//	err = plan.WriteContext(w) // a tar stream
//
// # Concurrency and failure
//
// A Plan is used by one goroutine. Errors are of kind fault.Invalid for a Request that
// cannot be built, and fault.Conflict if files change while they are sent.
package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/moby/patternmatcher"

	"github.com/deft-dev/deft/fault"
)

// Builder builds images. It is safe for concurrent use.
type Builder interface {
	// BuildImage returns the name of the image that r describes, and builds it unless
	// it is there. progress gets each line of the log. The error of a step that fails
	// has the last lines of its output.
	BuildImage(ctx context.Context, r Request, progress func(line string)) (name string, err error)
}

// Keeper lists and removes what a Builder has made. It is safe for concurrent use.
type Keeper interface {
	// BuiltImages returns the images that are there, oldest first.
	BuiltImages(ctx context.Context) ([]Built, error)
	// RemoveBuiltImage removes one. Conflict if a container uses it, which keeps it.
	RemoveBuiltImage(ctx context.Context, b Built) error
}

// Built is an image that a Builder has made.
type Built struct {
	// Name is the one that sandboxes were started with.
	Name    string
	Created time.Time
	// Bytes is its size with the layers that it shares with its base.
	Bytes int64
	// Tags are all of its names in [Repository].
	Tags []string
}

// ContextBuilder builds images from contexts that were uploaded. It is safe for concurrent
// use.
type ContextBuilder interface {
	// BuildContext builds an image. progress gets each line of the log. The error of a
	// step that fails has the last lines of its output.
	BuildContext(ctx context.Context, c Context, progress func(line string)) error
}

// Context is an uploaded context.
type Context struct {
	// Files is a tar stream with a Dockerfile in its first directory. Whoever makes it has
	// checked it.
	Files io.Reader
	// Tags are the names of the image.
	Tags []string
	// Network gives the steps the builder's default network; otherwise they have none.
	Network bool
	// MemoryBytes and CPUs limit each step; 0 for no limit.
	MemoryBytes int64
	CPUs        float64
}

// Request describes an image: a Dockerfile, further dependencies, or both.
type Request struct {
	// Base is the image that ExtraDeps are added to; unused with a Dockerfile.
	Base string
	// Dockerfile is the path of a Dockerfile. Its directory is the context, except for
	// the files that its .dockerignore excludes.
	Dockerfile string
	// ExtraDeps is a shell command that installs further dependencies, as root.
	ExtraDeps string
	// Hidden are absolute paths that are never sent.
	Hidden []string
	// Refresh builds even if the image is there, with newer images below it.
	Refresh bool
}

// Repository is the repository of all names.
const Repository = "deft-sandbox"

// format changes when the same Request gives another image.
const format = "1"

// Names of files in the context. The engine drops both from it.
const (
	DockerfileName = ".deft.dockerfile"
	ignoreName     = ".dockerignore"
)

// maxDockerfile bounds a Dockerfile in bytes.
const maxDockerfile = 1 << 20

// Plan is a build that was checked. Close it.
type Plan struct {
	request    Request
	dockerfile string
	root       *os.Root // of the context; nil for an empty one
	dir        string   // its path without links
	ignore     *patternmatcher.PatternMatcher
	base       string
	lock       string
	source     string
	left       int64 // the rest of maxContext for the next files
}

// NewPlan checks a request and reads its context once. baseID identifies the contents
// of Base.
func NewPlan(r Request, baseID string) (_ *Plan, err error) {
	if r.Dockerfile == "" && strings.TrimSpace(r.ExtraDeps) == "" {
		return nil, fault.New(fault.Invalid, "there is nothing to build: no Dockerfile and no dependencies")
	}
	p := &Plan{request: r, base: r.Base}
	defer func() {
		if err != nil {
			p.Close()
		}
	}()
	if r.Dockerfile == "" {
		p.dockerfile = "FROM " + r.Base + "\n"
		if r.Base == "" || strings.ContainsAny(r.Base, " \t\r\n") {
			return nil, fault.New(fault.Invalid, fmt.Sprintf("%.100q is not the name of an image", r.Base))
		}
	} else if err := p.open(); err != nil {
		return nil, err
	}
	if strings.TrimSpace(r.ExtraDeps) != "" {
		// In JSON, so that no line of it is an instruction of its own.
		var run strings.Builder
		words := json.NewEncoder(&run)
		words.SetEscapeHTML(false) // the log shows it
		if err := words.Encode([]string{"/bin/sh", "-c", r.ExtraDeps}); err != nil {
			return nil, fault.Wrap(err, fault.Invalid, "the command for dependencies cannot be used")
		}
		p.dockerfile += "\nUSER root\nRUN " + run.String()
	}
	p.lock = hash(format, baseID, p.dockerfile)
	sum := sha256.New()
	if err := p.writeContext(sum); err != nil {
		return nil, err
	}
	p.source = hash(string(sum.Sum(nil)))
	return p, nil
}

// open reads the Dockerfile and opens its directory.
func (p *Plan) open() error {
	path, err := filepath.Abs(p.request.Dockerfile)
	if err == nil {
		p.dir, err = filepath.EvalSymlinks(filepath.Dir(path))
	}
	if err == nil {
		p.root, err = os.OpenRoot(p.dir)
	}
	if err != nil {
		return fault.Wrap(err, fault.Invalid, "open the directory of the Dockerfile")
	}
	text, err := p.read(filepath.Base(path))
	if err != nil {
		return err
	}
	p.dockerfile = text
	p.base = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)) + "-" + filepath.Base(p.dir)
	return p.readIgnore()
}

// read returns a small file of the context.
func (p *Plan) read(name string) (string, error) {
	f, err := p.root.Open(name)
	if err != nil {
		return "", fault.Wrap(err, fault.Invalid, "open "+name)
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxDockerfile+1))
	switch {
	case err != nil:
		return "", fault.Wrap(err, fault.Invalid, "read "+name)
	case len(raw) > maxDockerfile:
		return "", fault.New(fault.Invalid, name+" has more than 1 MB")
	}
	return string(raw), nil
}

// Tags returns the names of the image: one for exactly these instructions and files,
// one for the instructions, and one for the base. An image with the first one need not
// be built; the others move to the newest build, and so keep the layers that the next
// one can begin with.
func (p *Plan) Tags() []string {
	return []string{
		Repository + ":v" + format + "_" + p.lock + "_" + p.source,
		Repository + ":v" + format + "_" + p.lock,
		Repository + ":v" + format + "_" + SafeTag(p.base),
	}
}

// Close releases the context.
func (p *Plan) Close() error {
	if p.root == nil {
		return nil
	}
	return p.root.Close()
}

// maxBase is how much of a base's name is in a tag.
const maxBase = 96

// SafeTag returns the name of an image as a part of a tag, in the way of OpenHands'
// builder: "_s_" for a slash and "_t_" for a colon.
func SafeTag(name string) string {
	name = strings.NewReplacer("/", "_s_", ":", "_t_").Replace(name)
	name = strings.Map(func(r rune) rune {
		if r == '.' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
	return name[max(0, len(name)-maxBase):]
}

// hash returns 16 characters of a hash, in base 36.
func hash(parts ...string) string {
	sum := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(sum, "%d:%s", len(part), part)
	}
	n, _ := new(big.Int).SetString(hex.EncodeToString(sum.Sum(nil)), 16) // it is hexadecimal
	text := n.Text(36)
	return text[max(0, len(text)-16):]
}
