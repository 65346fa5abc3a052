package gitview

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/realpath"
)

// Diff is a file before and after. Both are nil outside a repository.
type Diff struct {
	Modified *string `json:"modified"`
	Original *string `json:"original"`
}

// PathError is the reason why there is no diff of a path. Its kind is fault.Invalid.
type PathError struct{ Msg string }

// Error implements error.
func (e *PathError) Error() string { return e.Msg }

// Unwrap gives it its kind.
func (e *PathError) Unwrap() error { return fault.New(fault.Invalid, e.Msg) }

// maxFile is the size above which a file is not shown.
const maxFile = 1 << 20

func tooLarge(size int64) error {
	return &PathError{fmt.Sprintf("File too large for git diff: %d bytes (max: %d bytes)", size, maxFile)}
}

// locate finds the repository of a file and the file's path in it.
func (s Scope) locate(file string) (v *View, path, rel string, err error) {
	if strings.ContainsRune(file, 0) {
		return nil, "", "", &PathError{"Path must not contain null bytes"}
	}
	path = realpath.Resolve(file)
	if !s.shows(path) {
		return nil, "", "", &PathError{"Path is outside the workspace"}
	}
	dir := path
	for { // the file's directory may have been deleted
		st, err := s.stat(dir)
		if err == nil && st.IsDir() || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	if v, err = s.Open(dir); err != nil {
		return nil, path, "", err
	}
	rel, err = filepath.Rel(v.Top, path)
	if err != nil || !filepath.IsLocal(rel) {
		return nil, path, "", errors.Join(&PathError{"File is not within git repository: " + path}, v.Close())
	}
	return v, path, rel, nil
}

// FileDiff compares a file with a revision; an empty ref means the default base, as
// in [Scope.Changes].
func (s Scope) FileDiff(ctx context.Context, file, ref string) (d Diff, err error) {
	v, path, rel, err := s.locate(file)
	if path == "" {
		return d, err
	}
	modified, exists, readErr := s.workFile(path)
	missing := &PathError{"File does not exist: " + path}
	switch {
	case readErr != nil:
		return d, errors.Join(readErr, closeView(v))
	case errors.Is(err, ErrNoRepository) && !exists:
		return d, missing
	case err != nil:
		return d, err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	base, err := v.base(ctx, ref)
	if err != nil {
		return d, err
	}
	original, found, err := v.file(ctx, base, rel)
	switch {
	case err != nil:
		return d, err
	case !found && !exists:
		return d, missing
	}
	original = lines(replaced(original))
	return Diff{Modified: &modified, Original: &original}, nil
}

func closeView(v *View) error {
	if v == nil {
		return nil
	}
	return v.Close()
}

// workFile reads a file of the working tree, "" for one that is no text.
func (s Scope) workFile(path string) (text string, exists bool, err error) {
	f, err := s.open(path)
	if err != nil {
		_, err := s.lstat(path)
		return "", err == nil, nil
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return "", true, nil
	}
	if st.Size() > maxFile {
		return "", true, tooLarge(st.Size())
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil || !utf8.Valid(b) {
		return "", true, nil
	}
	return lines(string(b)), true, nil
}

// CommitDiff returns a file before and after a commit. Both sides come from the
// repository, so deleted files are included.
func (s Scope) CommitDiff(ctx context.Context, file, sha string) (d Diff, err error) {
	v, path, rel, err := s.locate(file)
	if err != nil || path == "" {
		return d, err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	names, err := v.resolve(ctx, sha+"^{commit}", sha+"^{commit}^")
	if err != nil {
		return d, err
	}
	if names[0] == "" {
		return d, unresolved(sha + "^{commit}")
	}
	var sides [2]string
	g, ctx := errgroup.WithContext(ctx)
	for i, name := range names {
		if name != "" { // the first commit has no parent
			g.Go(func() (err error) {
				sides[i], _, err = v.file(ctx, name, rel)
				return err
			})
		}
	}
	if err := g.Wait(); err != nil {
		return d, err
	}
	for i := range sides {
		sides[i] = strings.TrimSpace(newlines.Replace(replaced(sides[i])))
	}
	return Diff{Modified: &sides[0], Original: &sides[1]}, nil
}

// file returns a file of a revision; found is false if there is no file.
func (v *View) file(ctx context.Context, revision, rel string) (text string, found bool, err error) {
	spec := revision + ":" + filepath.ToSlash(rel)
	if rel == "." {
		return "", false, nil
	}
	out := &bounded{max: maxFile}
	_, err = v.git(ctx, call{out: out}, "cat-file", "blob", spec)
	var refused *CommandError
	switch {
	case err == nil:
		return out.String(), true, nil
	case errors.Is(err, ErrOutput):
		size, err := v.git(ctx, call{}, "cat-file", "-s", spec)
		if err != nil {
			return "", false, err
		}
		return "", true, &PathError{"File too large for git diff: " + strings.TrimSpace(size) + fmt.Sprintf(" bytes (max: %d bytes)", maxFile)}
	case errors.As(err, &refused) && !refused.TimedOut:
		return "", false, nil
	}
	return "", false, err
}

var newlines = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// ends are the characters, beside \r\n, at which the reference ends a line.
var ends = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\x1c", "\n", "\x1d", "\n", "\x1e", "\n",
	"\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// lines returns a text as the reference sends it: lines joined by \n, without the
// end of the last one.
func lines(text string) string { return strings.TrimSuffix(ends.Replace(text), "\n") }

func replaced(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
