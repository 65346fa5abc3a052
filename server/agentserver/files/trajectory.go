package files

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/deft-dev/deft/server/agentserver/workspacescope"
	"github.com/deft-dev/deft/server/rest"
)

func (s *Service) trajectory(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathUUID(r, "conversation_id")
	if scope, ok := workspacescope.Of(r.Context()); ok {
		switch {
		case err != nil:
			return rest.Fail(http.StatusUnprocessableEntity, "Invalid trajectory conversation id")
		case id != scope.ID:
			return rest.Fail(http.StatusUnprocessableEntity, "Trajectory must belong to the selected conversation")
		}
	}
	if err != nil {
		return err
	}
	return WriteTrajectory(w, r, id, s.o.Trajectory)
}

// WriteTrajectory answers with a zip file of the files that write adds for a
// conversation.
func WriteTrajectory(w http.ResponseWriter, r *http.Request, id string, write func(ctx context.Context, id string, add AddFile) error) error {
	z := &zipped{w: w, id: id, dirs: map[string]bool{}}
	if err := write(r.Context(), id, z.add); err != nil {
		if z.out == nil {
			return err
		}
		return rest.ErrBroken
	}
	z.begin(time.Now())
	if err := z.out.Close(); err != nil {
		return rest.ErrBroken
	}
	return nil
}

// zipped streams a conversation's directory as a zip file.
type zipped struct {
	w    http.ResponseWriter
	id   string
	out  *zip.Writer // nil before the first byte
	dirs map[string]bool
}

// begin sends the header, once the conversation was found.
func (z *zipped) begin(modified time.Time) {
	if z.out != nil {
		return
	}
	attach(z.w, z.id+".zip", "application/octet-stream")
	z.out = zip.NewWriter(z.w)
	z.folder(z.id, modified)
}

// folder adds a directory; closing the zip returns errors.
func (z *zipped) folder(name string, modified time.Time) {
	if z.dirs[name] {
		return
	}
	z.dirs[name] = true
	_, _ = z.out.CreateHeader(&zip.FileHeader{Name: name + "/", Modified: modified})
}

// add is an [AddFile]. It leaves out credentials of a running agent and incomplete
// files.
func (z *zipped) add(name string, modified time.Time, content []byte) error {
	z.begin(modified)
	if name = path.Clean("/" + name)[1:]; name == "" || strings.HasPrefix(name, "acp/") || strings.HasSuffix(name, ".tmp") {
		return nil
	}
	for i, c := range name {
		if c == '/' {
			z.folder(z.id+"/"+name[:i], modified)
		}
	}
	f, err := z.out.CreateHeader(&zip.FileHeader{Name: z.id + "/" + name, Modified: modified, Method: zip.Deflate})
	if err != nil {
		return err
	}
	_, err = f.Write(Redact(name, content))
	return err
}

// AddDirectory calls add for each regular file below a directory, by name. Links
// and files that vanish meanwhile are left out.
func AddDirectory(ctx context.Context, dir string, add AddFile) error {
	return filepath.WalkDir(dir, func(at string, e fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, fs.ErrNotExist) && at != dir:
			return nil
		case err != nil:
			return fmt.Errorf("read a conversation's directory: %w", err)
		case !e.Type().IsRegular():
			return nil
		}
		name, err := filepath.Rel(dir, at)
		if err != nil {
			return fmt.Errorf("read a conversation's directory: %w", err)
		}
		st, err := e.Info()
		var content []byte
		if err == nil {
			content, err = os.ReadFile(at)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read a conversation's directory: %w", err)
		}
		return add(name, st.ModTime(), content)
	})
}
