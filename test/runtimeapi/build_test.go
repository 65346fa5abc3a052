package runtimeapi_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
)

// built is an answer about a build.
type built struct {
	ID     string `json:"build_id"`
	Status string `json:"status"`
	Image  string `json:"image"`
	Error  string `json:"error"`
	Detail string `json:"detail"`
}

// contextOf makes the tar.gz that OpenHands' RemoteRuntimeBuilder sends.
func contextOf(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	err := w.WriteHeader(&tar.Header{Name: ".", Typeflag: tar.TypeDir, Mode: 0o755})
	for name, text := range files {
		head := &tar.Header{Name: "./" + name, Mode: 0o644, Size: int64(len(text))}
		if strings.HasPrefix(name, "../") {
			head.Name = name
		}
		err = errors.Join(err, w.WriteHeader(head))
		_, werr := io.WriteString(w, text)
		err = errors.Join(err, werr)
	}
	must.Succeed(t, errors.Join(err, w.Close(), z.Close()))
	return b.Bytes()
}

// build uploads a context in the form of RemoteRuntimeBuilder.
func (s *server) build(apiKey string, archive []byte, tags ...string) (built, int) {
	s.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("context", "context.tar.gz")
	if err == nil {
		_, err = io.WriteString(part, base64.StdEncoding.EncodeToString(archive))
	}
	for i, tag := range tags {
		name := "tags"
		if i == 0 {
			name = "target_image"
		}
		err = errors.Join(err, form.WriteField(name, tag))
	}
	must.Succeed(s.t, errors.Join(err, form.Close()))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/build", &body)
	must.Succeed(s.t, err)
	q.Header.Set("X-API-Key", apiKey)
	q.Header.Set("Content-Type", form.FormDataContentType())
	answer, err := http.DefaultClient.Do(q)
	must.Succeed(s.t, err)
	defer answer.Body.Close()
	var b built
	must.Succeed(s.t, json.NewDecoder(answer.Body).Decode(&b))
	return b, answer.StatusCode
}

// finished waits for the end of a build.
func (s *server) finished(id string) built {
	s.t.Helper()
	var b built
	await(s.t, func() bool {
		b = built{}
		status := s.do("GET", "/build_status?build_id="+id, key, nil, &b)
		return status != http.StatusOK || b.Status != "QUEUED" && b.Status != "WORKING"
	})
	return b
}

// removeImage removes an image when the test has ended.
func removeImage(t *testing.T, docker, name string) {
	t.Helper()
	t.Cleanup(func() {
		q, err := http.NewRequest(http.MethodDelete, "http://docker/images/"+name+"?force=true", nil)
		if err != nil {
			t.Error(err)
			return
		}
		answer, err := ofEngine(docker).Do(q)
		if err != nil {
			t.Error(err)
			return
		}
		answer.Body.Close() // 404 if the test did not come that far
	})
}

// TestBuild: an uploaded context becomes an image that runtimes start from.
func TestBuild(t *testing.T) {
	t.Parallel()
	host := engine(t)
	args := []string{"--sandbox", "docker", "--registry-prefix", "test.local"}
	if os.Geteuid() != 0 { // it cannot give the workspace to the user of the client's command
		args = append(args, "--ignore", "run_as_user")
	}
	s := openWith(t, host, args...)
	var prefix struct {
		Prefix string `json:"registry_prefix"`
	}
	if s.do("GET", "/registry_prefix", key, nil, &prefix); prefix.Prefix != "test.local/one" {
		t.Fatalf("%+v", prefix)
	}
	name := prefix.Prefix + "/runtime:" + strings.ToLower(t.Name()) + "_1"
	other := prefix.Prefix + "/runtime:" + strings.ToLower(t.Name()) + "_2"
	for _, n := range []string{name, other} {
		removeImage(t, host, n)
		var found struct{ Exists bool }
		if status := s.do("GET", "/image_exists?image="+url.QueryEscape(n), key, nil, &found); status != http.StatusOK || found.Exists {
			t.Fatalf("%d, %+v", status, found)
		}
	}
	archive := contextOf(t, map[string]string{
		"Dockerfile": "FROM " + image + "\nCOPY code/ /code\nRUN echo network: $(ls /sys/class/net)\n", "code/hello": "from the context",
		"code/once": rand.Text(), // an engine that has built the same shows no output again
	})
	b, status := s.build(key, archive, name, other)
	if status != http.StatusOK || b.ID == "" {
		t.Fatalf("%d, %+v", status, b)
	}
	if b = s.finished(b.ID); b.Status != "SUCCESS" || b.Image != name {
		t.Fatalf("%+v", b)
	}
	var printed struct {
		Log  string
		Next int `json:"next_offset"`
	}
	if s.do("GET", "/build_log?build_id="+b.ID, key, nil, &printed); !strings.Contains(printed.Log, "network: lo\n") {
		t.Errorf("the log: %q", printed.Log)
	}
	for _, n := range []string{name, other} {
		var found struct {
			Exists bool
			Image  struct {
				Bytes int64 `json:"image_size_bytes"`
			}
		}
		if s.do("GET", "/image_exists?image="+url.QueryEscape(n), key, nil, &found); !found.Exists || found.Image.Bytes == 0 {
			t.Errorf("%s: %+v", n, found)
		}
	}
	r, status := s.inContainer("a", map[string]any{"image": name})
	if status != http.StatusOK {
		t.Fatalf("%d, %+v", status, r)
	}
	if got := r.run(t, "cat /code/hello"); got != "from the context" {
		t.Errorf("%q", got)
	}

	// A step that fails.
	failing := contextOf(t, map[string]string{"Dockerfile": "FROM " + image + "\nRUN echo the-reason-is-$((40+2)); exit 3\n"})
	b, _ = s.build(key, failing, name+"f")
	if b = s.finished(b.ID); b.Status != "FAILURE" || !strings.Contains(b.Error, "the-reason-is-42") {
		t.Errorf("%+v", b)
	}
	// Another key's builds, names and hostile archives.
	var seen built
	if status := s.do("GET", "/build_status?build_id="+b.ID, otherKey, nil, &seen); status != http.StatusNotFound {
		t.Errorf("%d, %+v", status, seen)
	}
	for why, c := range map[string]struct {
		key    string
		raw    []byte
		tag    string
		status int
	}{
		"another key's name": {otherKey, archive, name, http.StatusForbidden},
		"no prefix":          {key, archive, image, http.StatusForbidden},
		"no name":            {key, archive, "test.local/one/UPPER CASE", http.StatusUnprocessableEntity},
		"..":                 {key, contextOf(t, map[string]string{"Dockerfile": "FROM x", "../f": ""}), name, http.StatusUnprocessableEntity},
		"no archive":         {key, []byte("x"), name, http.StatusUnprocessableEntity},
		"address":            {key, contextOf(t, map[string]string{"Dockerfile": "FROM x\nADD http://127.0.0.1:1/ /"}), name, http.StatusUnprocessableEntity},
	} {
		if b, status := s.build(c.key, c.raw, c.tag); status != c.status || b.Detail == "" {
			t.Errorf("%s: %d, %+v", why, status, b)
		}
	}
}

// TestBuildInterrupted: a build goes on without its client, and has failed after the server
// was killed; the next server says so.
func TestBuildInterrupted(t *testing.T) {
	t.Parallel()
	host := engine(t)
	s := openWith(t, host, "--sandbox", "docker", "--registry-prefix", "test.local")
	name := "test.local/one/runtime:" + strings.ToLower(t.Name())
	removeImage(t, host, name)
	b, status := s.build(key, contextOf(t, map[string]string{"Dockerfile": "FROM " + image + "\nRUN echo waiting; exec sleep 600\n"}), name)
	if status != http.StatusOK {
		t.Fatalf("%d, %+v", status, b)
	}
	await(t, func() bool {
		var printed struct{ Log string }
		s.do("GET", "/build_log?build_id="+b.ID, key, nil, &printed)
		return strings.Contains(printed.Log, "waiting\n")
	})
	again, status := s.build(key, contextOf(t, map[string]string{"Dockerfile": "FROM " + image + "\n"}), name)
	if status != http.StatusConflict {
		t.Errorf("%d, %+v", status, again)
	}
	s.kill()
	s.start("--sandbox", "docker", "--registry-prefix", "test.local")
	if got := s.finished(b.ID); got.Status != "FAILURE" || !strings.Contains(got.Error, "server was stopped") {
		t.Errorf("%+v", got)
	}
}
