package conversations

import (
	"archive/tar"
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/session"
)

// uploadMark is a file of the repository's Git directory that says that all of it is there.
const uploadMark = ".git/deft-uploaded"

// unpack replaces the Git directory that a sandbox makes in an empty workspace.
const unpack = `set -e
rm -rf .git
tar -xf "$0"
rm -f "$0"
: >` + uploadMark

// unpackSeconds is how long unpacking may take.
const unpackSeconds = 10 * 60

// upload brings a repository that was cloned here into a workspace that is inside its
// sandbox, and removes it here. It was cloned here because the token of the provider never
// enters a sandbox.
func (s *Service) upload(ctx context.Context, c *session.Conversation, dir string) error {
	done, err := c.Environment().HasFile(ctx, uploadMark)
	if err == nil && !done {
		err = s.send(ctx, c, dir)
		if err == nil { // its resources were made while the workspace was empty
			err = c.Reload(ctx)
		}
	}
	if err != nil {
		return fault.Wrap(err, fault.KindOf(err), "bring the repository into the sandbox")
	}
	if err := os.RemoveAll(dir); err != nil {
		return fault.Wrap(err, fault.Denied, "remove what was brought into the sandbox")
	}
	return nil
}

func (s *Service) send(ctx context.Context, c *session.Conversation, dir string) error {
	files, err := c.Environment().Files(ctx)
	if err != nil {
		return err
	}
	defer files.Close()
	r, w := io.Pipe()
	packed := make(chan struct{})
	go func() {
		defer close(packed)
		_ = w.CloseWithError(pack(w, dir)) // the error is read from the pipe
	}()
	archive := path.Join(c.Workspace(), ".repository-"+filepath.Base(c.ID().Hex())+".tar")
	_, err = files.Write(ctx, archive, r)
	_ = r.CloseWithError(err) // ends pack, if it has not ended
	<-packed
	if err != nil {
		return err
	}
	got, err := c.Environment().RunProgram(ctx, session.Program{Argv: []string{"sh", "-c", unpack, archive}, Dir: c.Workspace(), Seconds: unpackSeconds})
	if err == nil && got.ExitCode != 0 {
		err = fault.New(fault.Unsupported, fmt.Sprintf("unpacking it ended with exit code %d: %s", got.ExitCode, tail(got.Stdout+got.Stderr))).
			Hint("the image needs sh, tar and rm")
	}
	return err
}

// pack writes a directory as an archive.
func pack(w io.Writer, dir string) error {
	t := tar.NewWriter(w)
	if err := t.AddFS(os.DirFS(dir)); err != nil {
		return err
	}
	return t.Close()
}
