package files_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/testtree"
	"github.com/deft-dev/deft/server/agentserver/files"
)

// members lists a tarball as "name: content" lines.
func members(t *testing.T, data string) string {
	t.Helper()
	z, err := gzip.NewReader(strings.NewReader(data))
	must.Succeed(t, err)
	var b strings.Builder
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return b.String()
		}
		must.Succeed(t, err)
		content, err := io.ReadAll(r)
		must.Succeed(t, err)
		fmt.Fprintf(&b, "%s: %s\n", h.Name, content)
	}
}

func TestTarball(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, name := range []string{"a.txt", "build/x", "sub/build", "sub/node_modules/x", "sub/keep.bin", "sub/x.pyc", "sub/deep/secret/k", "sub/deep/s2"} {
		p.write("ws/"+name, name)
	}
	must.Succeed(t, os.Mkdir(p.ws+"/empty", 0o755))
	p.link("ws/link", "/etc/passwd")
	p.link("ws/linkdir", "/etc")
	must.Succeed(t, syscall.Mkfifo(p.ws+"/pipe", 0o600))
	srv := p.server(files.Options{})
	resp, body := get(t, srv, "/api/file/archive"+q(p.ws)+"&format=tar.gz&exclude=sub/deep/secret/&exclude=*.bin")
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "application/gzip" || resp.Header.Get("Content-Disposition") != `attachment; filename="ws.tar.gz"` {
		t.Fatalf("%d %v %s", resp.StatusCode, resp.Header, body)
	}
	want := `ws/: 
ws/a.txt: a.txt
ws/empty/: 
ws/sub/: 
ws/sub/build: sub/build
ws/sub/deep/: 
ws/sub/deep/s2: sub/deep/s2
ws/archive_manifest.json: {
  "excludes": [
    ".git/",
    "node_modules/",
    ".venv/",
    "venv/",
    "__pycache__/",
    ".mypy_cache/",
    ".pytest_cache/",
    ".ruff_cache/",
    "dist/",
    "build/",
    ".next/",
    "target/",
    "*.pyc",
    "sub/deep/secret/",
    "*.bin"
  ],
  "file_count": 3,
  "format": "tar.gz",
  "source": "ws",
  "total_bytes": 25
}
`
	if diff := cmp.Diff(want, members(t, body)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	p.write("ws/archive_manifest.json", "mine")
	p.write("ws/.git/config", "token")
	p.write("ws/.git/modules/m/logs/HEAD", "token")
	p.write("ws/.git/objects/x", "kept")
	_, body = get(t, srv, "/api/file/archive"+q(p.ws)+"&format=tar.gz&use_default_excludes=false&exclude=sub&exclude=build")
	got := members(t, body)
	if strings.Contains(got, "token") || !strings.Contains(got, ".git/objects/x: kept") || !strings.Contains(got, "archive_manifest.json: mine\n") || strings.Contains(got, "file_count") {
		t.Errorf("everything:\n%s", got)
	}
	if left, _ := filepath.Glob(p.dir + "/.archive-*"); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestGitDelta(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	repo := p.ws + "/group/repo ü"
	p.write("ws/group/repo ü/a", "1\n")
	testtree.Git(t, repo, "init", "-q", "-b", "main")
	testtree.Git(t, repo, "add", "-A")
	testtree.Git(t, repo, "commit", "-qm", "first")
	p.write("ws/group/repo ü/a", "2\n")
	p.write("ws/group/repo ü/.venv/x", "heavy")
	p.write("plain/x", "x")
	srv := p.server(files.Options{})
	// The workspace holds one repository, which is meant.
	resp, body := get(t, srv, "/api/file/archive"+q(p.ws)+"&base_ref=HEAD")
	if resp.StatusCode != 200 || !strings.Contains(body, "-1\n+2\n") || strings.Contains(body, "heavy") {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	for name, want := range map[string]string{
		"Content-Type": "text/x-patch; charset=utf-8", "X-Archive-Branch": "main", "X-Archive-Base-Ref": "HEAD",
		"X-Archive-Repo-Root":    strings.NewReplacer("/", "%2F", " ", "%20", "ü", "%C3%BC").Replace(repo),
		"X-Archive-Head-Commit":  resp.Header.Get("X-Archive-Base-Commit"),
		"Content-Disposition":    "attachment; filename*=utf-8''repo%20%C3%BC.patch",
		"X-Archive-Repo-Remote":  "",
		"X-Content-Type-Options": "nosniff",
	} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if len(resp.Header.Get("X-Archive-Base-Commit")) != 40 {
		t.Errorf("base %q", resp.Header.Get("X-Archive-Base-Commit"))
	}
	p.write("ws/group/repo ü/sub/x", "x")
	resp, _ = get(t, srv, "/api/file/archive"+q(repo+"/sub")+"&base_ref=HEAD")
	if resp.Header.Get("X-Archive-Base-Ref") != "HEAD" || resp.Header.Get("X-Archive-Repo-Root") != "" {
		t.Errorf("of a directory in a repository: %v", resp.Header)
	}
	for _, c := range []struct {
		path   string
		status int
		want   string // answer of the reference 1.58.0
	}{
		{q(p.dir + "/plain"), 400, `{"detail":"Not a git repository: Not a git repository: ` + p.dir + `/plain"}`},
		{q(p.ws) + "&base_ref=nope", 400, `{"detail":"base_ref 'nope' could not be resolved"}`},
		{q(p.ws) + "&base_ref=-x", 400, `{"detail":"base_ref must not start with '-'"}`},
		{q(p.ws) + "&format=zip", 422, `{"detail":[{"type":"literal_error","loc":["query","format"],"msg":"Input should be 'git-delta' or 'tar.gz'","input":"zip","ctx":{"expected":"'git-delta' or 'tar.gz'"}}]}`},
		{q("rel"), 400, `{"detail":"Path must be absolute"}`},
		{q(p.dir + "/none"), 404, `{"detail":"Directory not found"}`},
		{q(p.dir + "/plain/x"), 400, `{"detail":"Path is not a directory"}`},
	} {
		if resp, body := get(t, srv, "/api/file/archive"+c.path); resp.StatusCode != c.status || body != c.want {
			t.Errorf("%s: %d %s", c.path, resp.StatusCode, body)
		}
	}
	scoped := "/api/conversations/" + known + "/file/archive"
	if resp, _ := get(t, srv, scoped+q(p.ws)); resp.StatusCode != 200 {
		t.Errorf("of the workspace: %d", resp.StatusCode)
	}
	if resp, _ := get(t, srv, scoped+q(p.dir)); resp.StatusCode != 422 {
		t.Errorf("of what is around it: %d", resp.StatusCode)
	}
}

// TestArchiveOfRepository packs repositories with submodules and with credentials
// in a git directory, whole ones and one that git cannot read.
func TestArchiveOfRepository(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t-of-the-user"
	p := newPlace(t)
	p.write("lib/code", "x")
	p.write("ws/whole/file", "x")
	for _, dir := range []string{p.dir + "/lib", p.ws + "/whole"} {
		testtree.Git(t, dir, "init", "-q", "-b", "main")
		testtree.Git(t, dir, "add", "-A")
		testtree.Git(t, dir, "commit", "-q", "-m", "first")
	}
	testtree.Git(t, p.ws+"/whole", "submodule", "--quiet", "add", p.dir+"/lib", "lib")
	testtree.Git(t, p.ws+"/whole", "commit", "-q", "-m", "second")
	p.write("ws/whole/new", "y")
	p.write("ws/whole/lib/new", "y")
	// One with the files of a git directory only.
	p.write("ws/damaged/.git/HEAD", "ref: refs/heads/main\n")
	p.write("ws/damaged/.gitmodules", "[submodule \"lib\"]\n")
	p.write("ws/damaged/lib/.git", "gitdir: ../.git/modules/lib\n")
	p.write("ws/damaged/file", "x")
	remote := "https://oauth2:" + secret + "@host/o/r.git?depth=1&access_token=" + secret
	for _, repo := range []string{"ws/whole", "ws/damaged"} {
		for _, file := range []string{"config", "FETCH_HEAD", "logs/HEAD", "logs/refs/heads/main", "modules/lib/config", "modules/lib/FETCH_HEAD", "modules/lib/logs/HEAD", "worktrees/w/config.worktree", "credentials"} {
			text := remote + "\n"
			if strings.HasSuffix(file, "config") {
				text = "[core]\n\trepositoryformatversion = 0\n[remote \"origin\"]\n\turl = \"" + remote + "\"\n"
			}
			p.write(repo+"/.git/"+file, text)
		}
	}
	srv := p.server(files.Options{})
	for _, base := range []string{"/api/file/archive", "/api/conversations/" + known + "/file/archive"} {
		for _, dir := range []string{"whole", "damaged"} {
			for _, more := range []string{"&format=tar.gz", "&format=tar.gz&use_default_excludes=false", "&format=git-delta", "&format=git-delta&base_ref=HEAD"} {
				if dir == "damaged" && strings.Contains(more, "delta") {
					continue // there is nothing to compare with
				}
				resp, body := get(t, srv, base+q(p.ws+"/"+dir)+more)
				if resp.StatusCode != 200 {
					t.Errorf("%s %s%s: %d %s", base, dir, more, resp.StatusCode, body)
					continue
				}
				if got, want := resp.Header.Get("X-Archive-Repo-Remote"), "https%3A%2F%2F%2A%2A%2A%2A%40host%2Fo%2Fr.git%3Fdepth%3D1%26access_token%3D%253Credacted%253E"; got != want {
					t.Errorf("%s %s%s: remote %s", base, dir, more, got)
				}
				names := ""
				if strings.Contains(more, "tar.gz") {
					z, err := gzip.NewReader(strings.NewReader(body))
					must.Succeed(t, err)
					for r := tar.NewReader(z); ; {
						h, err := r.Next()
						if errors.Is(err, io.EOF) {
							break
						}
						must.Succeed(t, err)
						text, err := io.ReadAll(r)
						must.Succeed(t, err)
						names += h.Name + "\n"
						body += string(text)
					}
					if !strings.Contains(names, dir+"/file\n") {
						t.Errorf("%s %s%s has no file: %s", base, dir, more, names)
					}
				} else if !strings.Contains(body, "+y") {
					t.Errorf("%s %s%s: %s", base, dir, more, body)
				}
				if strings.Contains(body+fmt.Sprint(resp.Header), secret) {
					t.Errorf("%s %s%s has a credential in\n%s", base, dir, more, names)
				}
			}
		}
	}
}

func TestTrajectory(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	secret := `{"agent":{"llm":{"api_key":"sk-1","model":"m","n":1.50}},"list":["gAAAAAx"],"api_key":""}`
	for name, text := range map[string]string{
		"base_state.json": secret, "meta.json": `{"a": 1}`, "events/event-00000-abc.json": `{"kind":"x","text":"api_key"}`,
		"acp/token.json": "sk-2", "x.tmp": "sk-3", "log.jsonl": "{\"llm_api_key\":\"sk-4\"}\nnot json\n",
	} {
		p.write("conv/"+name, text)
	}
	srv := p.server(files.Options{Trajectory: func(ctx context.Context, id string, add files.AddFile) error {
		if id != known {
			return fault.New(fault.NotFound, "Conversation not found")
		}
		return files.AddDirectory(ctx, p.dir+"/conv", add)
	}})
	resp, body := get(t, srv, "/api/file/download-trajectory/0000000000000000000000000000000A")
	if resp.StatusCode != 200 || resp.Header.Get("Content-Disposition") != `attachment; filename="`+known+`.zip"` {
		t.Fatalf("%d %v", resp.StatusCode, resp.Header)
	}
	z, err := zip.NewReader(strings.NewReader(body), int64(len(body)))
	must.Succeed(t, err)
	got := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		must.Succeed(t, err)
		text, err := io.ReadAll(r)
		must.Succeed(t, err)
		got[strings.TrimPrefix(f.Name, known)] = string(text)
	}
	want := map[string]string{
		"/": "", "/events/": "", "/meta.json": `{"a": 1}`, "/events/event-00000-abc.json": `{"kind":"x","text":"api_key"}`,
		"/base_state.json": `{"agent":{"llm":{"api_key":"**********","model":"m","n":1.50}},"list":["**********"],"api_key":""}`,
		"/log.jsonl":       "{\"llm_api_key\":\"**********\"}\nnot json\n",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	scoped := "/api/conversations/" + known + "/file/download-trajectory/"
	for path, want := range map[string]string{
		"/api/file/download-trajectory/" + unknown: `404 {"detail":"Conversation not found"}`,
		"/api/file/download-trajectory/..":         "",
		scoped + unknown:                           `422 {"detail":"Trajectory must belong to the selected conversation"}`,
		scoped + "zz":                              `422 {"detail":"Invalid trajectory conversation id"}`,
	} {
		resp, body := get(t, srv, path)
		if got := fmt.Sprintf("%d %s", resp.StatusCode, body); want != "" && got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
}

// TestBrokenTrajectory wants a client to see that a zip is not whole.
func TestBrokenTrajectory(t *testing.T) {
	t.Parallel()
	srv := newPlace(t).server(files.Options{Trajectory: func(_ context.Context, _ string, add files.AddFile) error {
		return errors.Join(add("meta.json", time.Now(), bytes.Repeat([]byte("x"), 1<<20)), errors.New("the disk broke"))
	}})
	resp, err := srv.Client().Get(srv.URL + "/api/file/download-trajectory/" + known)
	if err != nil {
		return // broken before the header: as good
	}
	defer resp.Body.Close()
	if _, err := io.ReadAll(resp.Body); err == nil {
		t.Error("half a zip looks whole")
	}
}

func FuzzRedact(f *testing.F) {
	for _, s := range []string{`{"api_key":"s"}`, `[["gAAAAAx"],{"a":{"api_key":"\u0041"}}]`, `{"api_key":{"api_key":"x"}}`, `"gAAAAA" "gAAAAA"`, `{`, `{"api_key":"x`, ``} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		out := files.Redact("x.json", bytes.Clone(in))
		again := files.Redact("x.json", bytes.Clone(out))
		if !bytes.Equal(out, again) {
			t.Errorf("%q became %q, then %q", in, out, again)
		}
	})
}
