package remote

import (
	"archive/tar"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox/image"
)

// received is a builder's input.
type received struct {
	names []string
	files map[string]string
}

func receive(t *testing.T, r *http.Request) (got received) {
	t.Helper()
	got.files = map[string]string{}
	parts, err := r.MultipartReader()
	if err != nil {
		t.Error(err)
		return got
	}
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return got
		}
		if err != nil {
			t.Error(err)
			return got
		}
		if part.FormName() != "context" {
			raw, err := io.ReadAll(part)
			must.Report(t, err)
			got.names = append(got.names, part.FormName()+"="+string(raw))
			continue
		}
		unzipped, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, part))
		if err != nil {
			t.Error(err)
			return got
		}
		for files := tar.NewReader(unzipped); ; {
			head, err := files.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			raw, rerr := io.ReadAll(files)
			if err := errors.Join(err, rerr); err != nil {
				t.Error(err)
				return got
			}
			got.files[head.Name] = string(raw)
		}
	}
}

func TestBuildImage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"Dockerfile": "FROM x\nCOPY . /\n", "Other.Dockerfile": "FROM y\n", "f": "content", ".dockerignore": "no\n", "no": "secret"} {
		must.Succeed(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	bare := t.TempDir()
	must.Succeed(t, os.WriteFile(filepath.Join(bare, "Some.Dockerfile"), []byte("FROM z\n"), 0o600))
	for name, c := range map[string]struct {
		request image.Request
		files   map[string]string
	}{
		"Dockerfile": {
			image.Request{Dockerfile: filepath.Join(dir, "Dockerfile")},
			map[string]string{"Dockerfile": "FROM x\nCOPY . /\n", "Other.Dockerfile": "FROM y\n", "f": "content"},
		},
		"another name": {
			image.Request{Dockerfile: filepath.Join(bare, "Some.Dockerfile")},
			map[string]string{"Dockerfile": "FROM z\n", "Some.Dockerfile": "FROM z\n", ".dockerignore": "Dockerfile\n.dockerignore\n"},
		},
		"dependencies": {
			image.Request{Base: "base:1", ExtraDeps: "apk add jq"},
			map[string]string{"Dockerfile": "FROM base:1\n\nUSER root\nRUN [\"/bin/sh\",\"-c\",\"apk add jq\"]\n", ".dockerignore": "Dockerfile\n.dockerignore\n"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var got received
				built := ""
				s := &badServer{answer: func(w http.ResponseWriter, r *http.Request, n int) error {
					switch r.URL.Path {
					case "/registry_prefix":
						return reply(w, 200, anything{"registry_prefix": "registry.test/me"})
					case "/image_exists":
						return reply(w, 200, anything{"exists": r.URL.Query().Get("image") == built, "image": anything{"upload_time": "2026"}})
					case "/build":
						switch n {
						case 1:
							return errors.New("connection reset")
						case 2, 3, 4, 5: // more than one row of tries
							return reply(w, 429, anything{"detail": "full"})
						}
						got = receive(t, r)
						return reply(w, 200, anything{"build_id": "b 1"})
					case "/build_status":
						if r.URL.Query().Get("build_id") != "b 1" {
							return reply(w, 404, anything{})
						}
						if n < 4 {
							return reply(w, 200, anything{"status": []string{"QUEUED", "WORKING", "WORKING"}[n-1]})
						}
						built = strings.TrimPrefix(got.names[0], "target_image=")
						return reply(w, 200, anything{"status": "SUCCESS", "image": built})
					case "/build_log":
						return reply(w, 200, anything{"log": []string{"", "line 1\nlin", "e 2\n", "end"}[n-1], "next_offset": n})
					}
					return reply(w, 404, anything{})
				}}
				p := s.provider(t)
				var log []string
				progress := func(line string) { log = append(log, line) }
				name, err := p.BuildImage(t.Context(), c.request, progress)
				if err != nil || name != built || !strings.HasPrefix(name, "registry.test/me/"+image.Repository+":") {
					t.Fatal(name, err)
				}
				if diff := cmp.Diff(c.files, got.files); diff != "" {
					t.Error(diff)
				}
				if len(got.names) != 3 || !strings.HasPrefix(got.names[1], "tags=registry.test/me/") {
					t.Errorf("%q", got.names)
				}
				if !slices.Equal(log[len(log)-3:], []string{"line 1", "line 2", "end"}) {
					t.Errorf("%q", log)
				}
				uploads := s.asked["api.test/build"]
				if again, err := p.BuildImage(t.Context(), c.request, progress); again != name || err != nil || s.asked["api.test/build"] != uploads {
					t.Errorf("built again: %s, %v", again, err)
				}
			})
		})
	}
}

func TestFailedBuild(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		begin, status int
		answer        anything
		kind          fault.Kind
		text          string
	}{
		"step":      {200, 200, anything{"status": "FAILURE", "error": "step 3"}, fault.Invalid, "step 3"},
		"no reason": {200, 200, anything{"status": "EXPIRED"}, fault.Invalid, "EXPIRED"},
		"for ever":  {200, 200, anything{"status": "WORKING"}, fault.Timeout, "within 35m0s"},
		"lost":      {200, 404, anything{"detail": "no build"}, fault.NotFound, "no build"},
		"refused":   {422, 0, nil, fault.Invalid, "detail of /build"},
		"none":      {501, 0, nil, fault.Unsupported, "detail of /build"},
		"full":      {429, 0, nil, fault.RateLimit, "detail of /build"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &badServer{answer: func(w http.ResponseWriter, r *http.Request, _ int) error {
					switch r.URL.Path {
					case "/build":
						return reply(w, c.begin, anything{"build_id": "b", "detail": "detail of /build"})
					case "/build_status":
						return reply(w, c.status, c.answer)
					case "/build_log":
						return reply(w, 404, anything{})
					}
					return reply(w, 200, anything{"exists": false, "registry_prefix": ""})
				}}
				name, err := s.provider(t).BuildImage(t.Context(), image.Request{Base: "x", ExtraDeps: "y"}, func(string) {})
				if !fault.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) {
					t.Errorf("%s, %v", name, err)
				}
				if n := s.asked["api.test/build_log"]; n > 1 {
					t.Errorf("a log that there is not was asked for %d times", n)
				}
			})
		})
	}
}
