package link

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/gitview"
	"github.com/deft-dev/deft/skill"
	"github.com/deft-dev/deft/workspace"
)

// Paths of the requests.
const (
	queryPath   = "/v1/files/query"
	contentPath = "/v1/files/content"
	archivePath = "/v1/files/archive"
)

// fileHeader describes the file of a content, archivedTrailer an archive: both are
// base64 of JSON.
const (
	fileHeader      = "Deft-File"
	archivedTrailer = "Deft-Archived"
)

// Bounds of a client.
const (
	maxRequest = 1 << 20
	maxAnswer  = 64 << 20
	maxHeader  = 16 << 10
	maxMessage = 4 << 10
)

// Questions.
const (
	opStat          = "stat"
	opList          = "list"
	opMakeDirectory = "make_directory"
	opChanges       = "changes"
	opCompare       = "compare"
	opFileDiff      = "file_diff"
	opCommitDiff    = "commit_diff"
	opCommits       = "commits"
	opCommitChanges = "commit_changes"
	opHead          = "head"
	opSkills        = "skills"
)

// query is a question about a path.
type query struct {
	Op    string `json:"op"`
	Path  []byte `json:"path,omitempty"`
	Ref   string `json:"ref,omitempty"` // or a commit
	Limit int    `json:"limit,omitempty"`
}

// archiveRequest asks for an archive of a directory.
type archiveRequest struct {
	Path []byte `json:"path"`
	workspace.Archive
}

// archived is how making an archive has ended.
type archived struct {
	Root       []byte   `json:"root,omitempty"`
	Base       string   `json:"base,omitempty"`
	Repository bool     `json:"repository,omitempty"`
	Remote     []byte   `json:"remote,omitempty"`
	Branch     []byte   `json:"branch,omitempty"`
	Head       string   `json:"head,omitempty"`
	Error      *failure `json:"error,omitempty"`
}

func archivedOf(a workspace.Archived, err error) archived {
	return archived{
		[]byte(a.Root), a.Base, a.Repository, []byte(a.Remote), []byte(a.Branch), a.Head, failureOf(err),
	}
}

func (a archived) result() (workspace.Archived, error) {
	return workspace.Archived{
		Root: string(a.Root), Base: a.Base, Repository: a.Repository,
		Metadata: gitview.Metadata{Remote: string(a.Remote), Branch: string(a.Branch), Head: a.Head},
	}, a.Error.err()
}

// skills are a project's skills.
type skills struct {
	Skills   []skill.Skill `json:"skills"`
	Warnings []warning     `json:"warnings,omitempty"`
}

type warning struct {
	Path  []byte   `json:"path"`
	Error *failure `json:"error"`
}

// fileInfo is a fs.FileInfo on the wire.
type fileInfo struct {
	FileName []byte      `json:"name"`
	FileSize int64       `json:"size"`
	FileMode fs.FileMode `json:"mode"`
	Modified time.Time   `json:"modified"`
}

var _ fs.FileInfo = (*fileInfo)(nil)

func infoOf(st fs.FileInfo) *fileInfo {
	return &fileInfo{[]byte(st.Name()), st.Size(), st.Mode(), st.ModTime()}
}

// Name implements [fs.FileInfo]. It has no directory, whatever the server says.
func (i *fileInfo) Name() string { return filepath.Base(string(i.FileName)) }

// Size implements [fs.FileInfo].
func (i *fileInfo) Size() int64 { return max(0, i.FileSize) }

// Mode implements [fs.FileInfo].
func (i *fileInfo) Mode() fs.FileMode { return i.FileMode }

// ModTime implements [fs.FileInfo].
func (i *fileInfo) ModTime() time.Time { return i.Modified }

// IsDir implements [fs.FileInfo].
func (i *fileInfo) IsDir() bool { return i.FileMode.IsDir() }

// Sys implements [fs.FileInfo].
func (i *fileInfo) Sys() any { return nil }

// failure is an error on the wire: its text, and the errors that errors.Is and
// errors.As find.
type failure struct {
	Kind    fault.Kind    `json:"kind"`
	Message string        `json:"message"`
	Hint    string        `json:"hint,omitempty"`
	Errno   syscall.Errno `json:"errno,omitempty"`
	Is      []string      `json:"is,omitempty"` // names of known
	// NoDiff says that it is a gitview.PathError, Git that it is a gitview.CommandError.
	NoDiff bool                  `json:"no_diff,omitempty"`
	Git    *gitview.CommandError `json:"git,omitempty"`
}

// known are the errors that callers compare with.
var known = map[string]error{
	"outside": workspace.ErrOutside, "not_file": workspace.ErrNotFile, "not_directory": workspace.ErrNotDirectory,
	"is_directory": workspace.ErrIsDirectory, "parent": workspace.ErrParent, "too_large": workspace.ErrTooLarge, "holes": workspace.ErrHoles,
	"no_repository": gitview.ErrNoRepository, "git_memory": gitview.ErrMemory, "git_output": gitview.ErrOutput, "no_git": exec.ErrNotFound,
}

func failureOf(err error) *failure {
	if err == nil {
		return nil
	}
	text := err.Error()
	f := &failure{Kind: fault.KindOf(err), Message: text[:min(len(text), maxMessage)], Hint: fault.HintOf(err)}
	for name, one := range known {
		if errors.Is(err, one) {
			f.Is = append(f.Is, name)
		}
	}
	_ = errors.As(err, &f.Errno) // zero if there is none
	var path *gitview.PathError
	f.NoDiff = errors.As(err, &path)
	if command, ok := errors.AsType[*gitview.CommandError](err); ok {
		short := *command
		short.Command = short.Command[:min(len(short.Command), maxMessage)]
		short.Stderr = short.Stderr[:min(len(short.Stderr), maxMessage)]
		f.Git = &short
	}
	return f
}

// err is the error of a failure, nil for none.
func (f *failure) err() error {
	if f == nil {
		return nil
	}
	of := fault.New(f.Kind, f.Message)
	if f.Hint != "" {
		of = of.Hint(f.Hint)
	}
	e := &remoteError{text: f.Message}
	for _, name := range f.Is {
		if is := known[name]; is != nil {
			e.causes = append(e.causes, is)
		}
	}
	if f.Errno != 0 {
		e.causes = append(e.causes, f.Errno)
	}
	if f.NoDiff {
		e.causes = append(e.causes, &gitview.PathError{Msg: f.Message})
	}
	if f.Git != nil {
		e.causes = append(e.causes, f.Git)
	}
	e.causes = append(e.causes, of)
	return e
}

// remoteError is an error of the other side.
type remoteError struct {
	text   string
	causes []error
}

// Error implements error.
func (e *remoteError) Error() string { return e.text }

// Unwrap returns the errors that errors.Is and errors.As compare.
func (e *remoteError) Unwrap() []error { return e.causes }

// header encodes a value for a header.
func header(v any) (string, error) {
	raw, err := json.Marshal(v)
	return base64.StdEncoding.EncodeToString(raw), err
}

// readHeader decodes a value of a header.
func readHeader(text string, v any) error {
	if len(text) > maxHeader {
		return fault.New(fault.Corrupt, "the action server's description of a file is too long")
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(raw, v)
	}
	return fault.Wrap(err, fault.Corrupt, "the action server's description of a file cannot be read")
}
