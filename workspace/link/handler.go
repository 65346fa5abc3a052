package link

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/workspace"
)

// pieceTimeout bounds each piece of a body, in both directions.
const pieceTimeout = time.Minute

// Handler serves a workspace below /v1/files/. open opens it for one request; the
// handler closes it.
func Handler(open func() (workspace.Files, error)) http.Handler {
	mux := http.NewServeMux()
	for pattern, serve := range map[string]func(workspace.Files, http.ResponseWriter, *http.Request) error{
		"POST " + queryPath: answer, "GET " + contentPath: read, "PUT " + contentPath: write, "POST " + archivePath: archive,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			files, err := open()
			if err == nil {
				defer files.Close()
				err = serve(files, w, r)
			}
			if err != nil {
				refuse(w, err)
			}
		})
	}
	return mux
}

// refuse answers with an error. Handlers return none once they have answered.
func refuse(w http.ResponseWriter, err error) {
	f := failureOf(err)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.Kind.HTTPStatus())
	if json.NewEncoder(w).Encode(f) != nil {
		panic(http.ErrAbortHandler) // the client has disconnected
	}
}

func reply(w http.ResponseWriter, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	if _, err := w.Write(raw); err != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}

// readRequest reads a body of JSON.
func readRequest(w http.ResponseWriter, r *http.Request, v any) error {
	if err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(pieceTimeout)); err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err == nil {
		err = json.Unmarshal(raw, v)
	}
	return fault.Wrap(err, fault.Invalid, "the request is not the JSON it should be")
}

// answer answers a question.
func answer(files workspace.Files, w http.ResponseWriter, r *http.Request) error {
	var q query
	if err := readRequest(w, r, &q); err != nil {
		return err
	}
	v, err := ask(r.Context(), files, q)
	if err != nil {
		return err
	}
	return reply(w, v)
}

func ask(ctx context.Context, files workspace.Files, q query) (any, error) {
	path := string(q.Path)
	switch q.Op {
	case opStat:
		st, err := files.Stat(ctx, path)
		if err != nil {
			return nil, err
		}
		return infoOf(st), nil
	case opList:
		list, err := files.List(ctx, path)
		found := make([]*fileInfo, len(list))
		for i, st := range list {
			found[i] = infoOf(st)
		}
		return found, err
	case opMakeDirectory:
		return struct{}{}, files.MakeDirectory(ctx, path)
	case opChanges:
		return files.Changes(ctx, path, q.Ref)
	case opCompare:
		return files.Compare(ctx, path, q.Ref)
	case opFileDiff:
		return files.FileDiff(ctx, path, q.Ref)
	case opCommitDiff:
		return files.CommitDiff(ctx, path, q.Ref)
	case opCommits:
		return files.Commits(ctx, path, q.Limit)
	case opCommitChanges:
		return files.CommitChanges(ctx, path, q.Ref)
	case opHead:
		return files.Head(ctx, path)
	case opSkills:
		var s skills
		found, warnings, err := files.Skills(ctx)
		s.Skills = found
		for _, w := range warnings {
			s.Warnings = append(s.Warnings, warning{[]byte(w.Path), failureOf(w.Err)})
		}
		return s, err
	}
	return nil, fault.New(fault.Unsupported, "unknown question about files: "+q.Op)
}

// read sends a file, or ranges of it.
func read(files workspace.Files, w http.ResponseWriter, r *http.Request) error {
	f, err := files.Open(r.Context(), r.URL.Query().Get("path"))
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	text, err := header(infoOf(st))
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set(fileHeader, text)
	h.Set("ETag", fmt.Sprintf(`"%x-%x"`, st.ModTime().UnixNano(), st.Size()))
	h.Set("Content-Type", "application/octet-stream")
	http.ServeContent(&pieces{w, http.NewResponseController(w)}, r, "", st.ModTime(), f)
	return nil
}

// write replaces a file.
func write(files workspace.Files, w http.ResponseWriter, r *http.Request) error {
	size, err := files.Write(r.Context(), r.URL.Query().Get("path"), &body{r.Body, http.NewResponseController(w)})
	if err != nil {
		return err
	}
	return reply(w, size)
}

// archive sends an archive as it is made, and how that ended behind it.
func archive(files workspace.Files, w http.ResponseWriter, r *http.Request) error {
	var q archiveRequest
	if err := readRequest(w, r, &q); err != nil {
		return err
	}
	w.Header().Set("Trailer", archivedTrailer)
	w.Header().Set("Content-Type", "application/octet-stream")
	out := bufio.NewWriterSize(&pieces{w, http.NewResponseController(w)}, 64<<10)
	done, err := files.Archive(r.Context(), string(q.Path), q.Archive, out)
	if err == nil {
		err = out.Flush()
	}
	text, encodeErr := header(archivedOf(done, err))
	if encodeErr != nil {
		panic(http.ErrAbortHandler) // without the trailer the client knows that it failed
	}
	w.Header().Set(archivedTrailer, text)
	return nil
}

// pieces bounds how long a client may take for each piece of an answer.
type pieces struct {
	http.ResponseWriter
	c *http.ResponseController
}

// Write implements [io.Writer].
func (p *pieces) Write(b []byte) (int, error) {
	if err := p.c.SetWriteDeadline(time.Now().Add(pieceTimeout)); err != nil {
		return 0, err
	}
	return p.ResponseWriter.Write(b)
}

// body bounds how long a client may take for each piece of a request.
type body struct {
	r io.Reader
	c *http.ResponseController
}

// Read implements [io.Reader].
func (b *body) Read(p []byte) (int, error) {
	if err := b.c.SetReadDeadline(time.Now().Add(pieceTimeout)); err != nil {
		return 0, err
	}
	return b.r.Read(p)
}
