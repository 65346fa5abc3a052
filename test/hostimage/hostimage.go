// Package hostimage makes images of tests from programs of this machine: it adds them and their
// libraries to the image of `make deps`, with the engine's own builder.
//
// # Usage
//
//	name := hostimage.Git(t, "unix:///var/run/docker.sock")
//
// # Concurrency and failure
//
// Several tests may make the same image at once. An image that is there with the same files is not made
// again. What fails, fails the test.
package hostimage

import (
	"archive/tar"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deft-dev/deft/internal/must"
)

// base is the image that others are made from.
const base = "deft-test-busybox:1"

// Git makes an image with git and returns its name: the files of a workspace inside are looked at inside.
func Git(t testing.TB, docker string) string {
	t.Helper()
	git, err := exec.LookPath("git")
	must.Succeed(t, err)
	name, err := files{"/bin/git": git}.make(t.Context(), docker, "deft-test-git")
	must.Succeed(t, err)
	return name
}

// Chromium makes an image with Debian's chromium-headless-shell and fonts, and returns its name.
func Chromium(ctx context.Context, docker string) (string, error) {
	const dir, shell = "/usr/lib/chromium", "chromium-headless-shell"
	all := files{"/bin/" + shell: filepath.Join("/usr/bin", shell)} // a script that starts the one of dir
	for _, pattern := range []string{
		filepath.Join(dir, shell), dir + "/*.pak", dir + "/*.dat", dir + "/*.bin", dir + "/lib[EG]*.so", dir + "/libvk*.so", dir + "/libvulkan.so*",
		"/usr/lib/*/libsoftokn3.so", "/usr/lib/*/libfreebl*3.so", "/usr/lib/*/libnssckbi.so", // which it loads when it runs
		"/etc/fonts/fonts.conf", "/etc/fonts/conf.d/*.conf", "/usr/share/fonts/truetype/liberation/*.ttf",
	} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			return "", fmt.Errorf("there are no files %s: make deps (%w)", pattern, cmp.Or(err, fs.ErrNotExist))
		}
		for _, file := range found {
			all[file] = file
		}
	}
	return all.make(ctx, docker, "deft-test-chromium")
}

// needless are directories of a Python that no kernel needs: packages of others, and 200 MB for tests and for
// linking.
var needless = regexp.MustCompile(`^((site|dist)-packages|test|idlelib|config-.*)$`)

// Notebook makes an image with the Python of an environment of this machine and its packages, such as
// ipykernel, and returns its name.
func Notebook(ctx context.Context, docker, environment string) (string, error) {
	about, err := exec.CommandContext(ctx, filepath.Join(environment, "bin", "python3"), "-c",
		"import os, sys, sysconfig; print(os.path.realpath(sys.executable), sysconfig.get_path('stdlib'), sysconfig.get_path('purelib'), sep='\\n')").Output()
	if err != nil {
		return "", fmt.Errorf("ask the Python of %s: %w", environment, err)
	}
	paths := strings.Fields(string(about))
	if len(paths) != 3 {
		return "", fmt.Errorf("the Python of %s says %q", environment, about)
	}
	all := files{"/usr/bin/python3": paths[0]}
	inside := filepath.Join("/usr/lib", filepath.Base(paths[1])) // it looks here for packages everywhere
	for _, dir := range paths[1:] {
		if err := all.tree(dir, inside, needless); err != nil {
			return "", err
		}
	}
	return all.make(ctx, docker, "deft-test-notebook")
}

// files are files of this machine by their paths in an image.
type files map[string]string

// tree adds the files of a directory, without some directories in it.
func (f files) tree(dir, inside string, without *regexp.Regexp) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		name, rerr := filepath.Rel(dir, path)
		switch {
		case err != nil || rerr != nil:
			return cmp.Or(err, rerr)
		case entry.IsDir() && without.MatchString(name):
			return filepath.SkipDir
		case entry.Type().IsRegular():
			f[filepath.Join(inside, name)] = path
		}
		return nil
	})
}

// library is a line of ldd: a library of a program.
var library = regexp.MustCompile(`(?m)^\s+(?:\S+ => )?(/\S+) \(0x`)

// libraries adds the libraries of the programs and of other libraries: under their own paths where a
// linker looks everywhere, else in a directory where it does.
func (f files) libraries(ctx context.Context) error {
	there := slices.Collect(maps.Values(f))
	slices.Sort(there)
	for _, file := range there {
		info, err := os.Stat(file)
		if err != nil {
			return err
		}
		if info.Mode()&0o111 == 0 || strings.HasSuffix(file, ".py") {
			continue
		}
		listed, err := exec.CommandContext(ctx, "ldd", file).Output()
		if err != nil {
			continue // a script
		}
		for _, m := range library.FindAllStringSubmatch(string(listed), -1) {
			lib := filepath.Clean(m[1])
			_, added := slices.BinarySearch(there, lib) // beside the file that wants it
			switch {
			case strings.HasPrefix(lib, "/lib") || strings.HasPrefix(lib, "/usr/lib"):
				f[lib] = lib
			case !added:
				f[filepath.Join("/usr/lib", filepath.Base(lib))] = lib
			}
		}
	}
	return nil
}

// make makes the image unless it is there. The newest one has the tag 1 too.
func (f files) make(ctx context.Context, docker, repository string) (string, error) {
	if err := f.libraries(ctx); err != nil {
		return "", err
	}
	sum := sha256.New()
	infos := map[string]fs.FileInfo{}
	for _, inside := range slices.Sorted(maps.Keys(f)) {
		info, err := os.Stat(f[inside])
		if err != nil {
			return "", err
		}
		infos[inside] = info
		fmt.Fprintln(sum, inside, info.Size(), info.Mode(), info.ModTime().UnixNano())
	}
	name := repository + ":" + hex.EncodeToString(sum.Sum(nil))[:16]
	if there, err := ask(ctx, docker, http.MethodGet, "/images/"+name+"/json", nil); there || err != nil {
		return name, err
	}
	content, send := io.Pipe()
	go func() { send.CloseWithError(f.write(send, infos)) }()
	defer content.Close()
	_, err := ask(ctx, docker, http.MethodPost, "/build?rm=1&t="+name+"&t="+repository+":1", content)
	return name, err
}

// write writes the context of the build.
func (f files) write(to io.Writer, infos map[string]fs.FileInfo) error {
	w := tar.NewWriter(to)
	instructions := "FROM " + base + "\nENV PATH=/usr/bin:/bin\nCOPY root/ /\n"
	if err := w.WriteHeader(&tar.Header{Name: "Dockerfile", Mode: 0o644, Size: int64(len(instructions))}); err != nil {
		return err
	}
	if _, err := io.WriteString(w, instructions); err != nil {
		return err
	}
	for _, inside := range slices.Sorted(maps.Keys(f)) {
		if err := w.WriteHeader(&tar.Header{Name: "root" + inside, Mode: int64(infos[inside].Mode().Perm()), Size: infos[inside].Size(),
			ModTime: infos[inside].ModTime().Truncate(time.Second)}); err != nil { // compiled Python has the seconds of its source
			return err
		}
		file, err := os.Open(f[inside])
		if err != nil {
			return err
		}
		_, err = io.Copy(w, file)
		file.Close()
		if err != nil {
			return err
		}
	}
	return w.Close()
}

// ask sends a request to the engine at an address, unix://PATH; false if there is nothing of that name.
func ask(ctx context.Context, docker, method, path string, body io.Reader) (bool, error) {
	engine := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", strings.TrimPrefix(docker, "unix://"))
	}}}
	request, err := http.NewRequestWithContext(ctx, method, "http://docker"+path, body)
	if err != nil {
		return false, err
	}
	request.Header.Set("Content-Type", "application/x-tar")
	answer, err := engine.Do(request)
	if err != nil {
		return false, err
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	switch {
	case err != nil:
		return false, err
	case answer.StatusCode == http.StatusNotFound:
		return false, nil
	case answer.StatusCode != http.StatusOK || method == http.MethodPost && !strings.Contains(string(said), "Successfully tagged"):
		return false, fmt.Errorf("%s %s: %s %s", method, path, answer.Status, said)
	}
	return true, nil
}
