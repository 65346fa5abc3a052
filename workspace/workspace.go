// Package workspace is how everything outside a sandbox reaches the files of a
// conversation's workspace: [Local] where they are on this machine's disk, and
// workspace/link through the conversation's sandbox where they are not.
//
// # Usage
//
//	files, err := workspace.Open("/work/project")
//	defer files.Close()
//	f, err := files.Open(ctx, "src/main.go")
//
// # Security
//
// Programs in the workspace are hostile and may exchange its links at any time. No
// method follows a link out of the workspace ([ErrOutside]), waits for a pipe, or runs
// programs that a repository's configuration names (see gitview).
//
// # Concurrency and failure
//
// All implementations are safe for concurrent use and pass workspacetest. Errors of
// the file system keep their error number, also through a sandbox, so
// errors.Is(err, fs.ErrNotExist) and the like work. Errors of git come from
// gitview. A sandbox that does not answer is fault.Unavailable.
package workspace

import (
	"context"
	"fmt"
	"io"
	"io/fs"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/gitview"
	"github.com/deft-dev/deft/skill"
)

// Errors of paths, beside the file system's. Their kind is fault.Invalid.
var (
	// ErrOutside says that a path leads out of the workspace.
	ErrOutside = fault.New(fault.Invalid, "the path is outside the workspace")
	// ErrNotFile says that a path is not a regular file.
	ErrNotFile = fault.New(fault.Invalid, "not a file")
	// ErrNotDirectory says that a path is not a directory.
	ErrNotDirectory = fault.New(fault.Invalid, "not a directory")
	// ErrIsDirectory says that a path to write to is a directory.
	ErrIsDirectory = fault.New(fault.Invalid, "the path is a directory")
	// ErrParent says that a parent of a path to write to is not a directory.
	ErrParent = fault.New(fault.Invalid, "a parent of the path is not a directory")
	// ErrTooLarge says that an archive or a list would exceed its bound.
	ErrTooLarge = fault.New(fault.Invalid, "too large")
	// ErrHoles says that files of an archive have holes of more than [MaxHoles].
	ErrHoles = fault.New(fault.Invalid, fmt.Sprintf("the files have holes of more than %d GiB", int64(MaxHoles)>>30))
)

// MaxArchive is how many bytes an archive, and the files in it, may have: a sparse
// file takes no space but is packed whole.
const MaxArchive = 64 << 30

// MaxEntries is how many files a directory that is listed may have.
const MaxEntries = 100_000

// Files are the files of one workspace. Paths are absolute where its programs run, or
// relative to it; links in them are followed.
type Files interface {
	Git
	// Path is the workspace's absolute path where its programs run.
	Path() string
	// Stat describes a file or directory.
	Stat(ctx context.Context, path string) (fs.FileInfo, error)
	// Open opens a regular file to read it; ErrNotFile for any other. ctx bounds
	// reading too.
	Open(ctx context.Context, path string) (File, error)
	// List describes the entries of a directory, links unfollowed, by name.
	List(ctx context.Context, path string) ([]fs.FileInfo, error)
	// Write replaces a file, or creates it and its directories, and returns its size.
	// It has its new content when all has been read from r, and keeps the old one if
	// that fails, unless its directory is not writable.
	Write(ctx context.Context, path string, r io.Reader) (int64, error)
	// MakeDirectory creates a directory and those above it.
	MakeDirectory(ctx context.Context, path string) error
	// Archive writes an archive of a directory to w. The result has its Root even if
	// it fails.
	Archive(ctx context.Context, path string, a Archive, w io.Writer) (Archived, error)
	// Skills loads the instructions of the workspace's project to agents
	// (skill.LoadProject).
	Skills(ctx context.Context) ([]skill.Skill, []skill.Warning, error)
	// Close releases the implementation's resources.
	Close() error
}

// Git shows the repositories of a workspace; see [gitview.Scope] and [gitview.View].
// The error is gitview.ErrNoRepository where there is none.
type Git interface {
	Changes(ctx context.Context, dir, ref string) ([]gitview.Change, error)
	Compare(ctx context.Context, dir, ref string) ([]gitview.Comparison, error)
	FileDiff(ctx context.Context, file, ref string) (gitview.Diff, error)
	CommitDiff(ctx context.Context, file, commit string) (gitview.Diff, error)
	Commits(ctx context.Context, dir string, limit int) (gitview.Commits, error)
	CommitChanges(ctx context.Context, dir, commit string) ([]gitview.Change, error)
	Head(ctx context.Context, dir string) (commit string, err error)
}

// File is a regular file that is read.
type File interface {
	io.ReadSeekCloser
	Stat() (fs.FileInfo, error)
}

// The formats of an archive.
const (
	GitDelta = "git-delta" // a patch of the differences from a commit
	TarGz    = "tar.gz"
)

// Archive configures an archive.
type Archive struct {
	Format string `json:"format"`
	// BaseRef is the commit that a patch is made against; empty for the default base.
	BaseRef string `json:"base_ref,omitempty"`
	// Excludes are patterns of files to leave out (see [gitview.Pathspecs]).
	Excludes []string `json:"excludes,omitempty"`
}

// Archived describes an archive's content.
type Archived struct {
	// Root is the directory: the one that was asked for, or the only repository below
	// it.
	Root string `json:"root"`
	// Base is the commit that a patch applies to, "" for none.
	Base string `json:"base,omitempty"`
	// Repository says whether Root is one; the rest describes it.
	Repository bool `json:"repository,omitempty"`
	gitview.Metadata
}
