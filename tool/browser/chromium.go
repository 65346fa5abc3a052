package browser

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/target"

	"github.com/deft-dev/deft/tool/internal/aptget"
	"github.com/deft-dev/deft/tool/internal/devtools"
)

// chromium is a running browser.
type chromium struct {
	c    Config
	cmd  *exec.Cmd
	dir  string // of the profile, the home and unfinished downloads
	conn *devtools.Conn

	stderr tail
	exited chan struct{} // closed when the program has ended
	err    error         // of the program, then

	closing sync.Once
	closed  error

	pages
}

// noBrowser says to the model why there is no browser, and names the next step.
type noBrowser string

func (n noBrowser) Error() string { return string(n) }

// startTime bounds the start of a browser: a busy machine takes long to read its files.
const startTime = 3 * time.Minute

// names are the programs that are looked for, the smallest one first.
var names = []string{
	"chromium-headless-shell", "chrome-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
}

var missing = "There is no Chromium here. " + aptget.Install("chromium-headless-shell", "") +
	" Alpine and Fedora have it as chromium. Pages that need no JavaScript can be read with curl."

// find finds the program of the browser: on the PATH, or where Playwright puts it.
func find(env []string) (string, error) {
	value := func(name string) (found string) {
		for _, v := range env {
			if text, ok := strings.CutPrefix(v, name+"="); ok {
				found = text
			}
		}
		return found
	}
	program := func(file string) bool {
		info, err := os.Stat(file)
		return err == nil && filepath.IsAbs(file) && info.Mode().IsRegular() && info.Mode()&0o111 != 0
	}
	for _, name := range names {
		for _, dir := range filepath.SplitList(value("PATH")) {
			if file := filepath.Join(dir, name); program(file) {
				return file, nil
			}
		}
	}
	dirs := []string{value("PLAYWRIGHT_BROWSERS_PATH")}
	if home := value("HOME"); home != "" {
		dirs = append(dirs, filepath.Join(home, ".cache", "ms-playwright"))
	}
	for _, dir := range dirs {
		for _, pattern := range []string{"chromium_headless_shell-*/chrome-*/*headless[_-]shell", "chromium-*/chrome-*/chrome"} {
			found, err := filepath.Glob(filepath.Join(dir, pattern))
			if err != nil || !filepath.IsAbs(dir) {
				continue
			}
			for _, file := range slices.Backward(found) { // the newest
				if program(file) {
					return file, nil
				}
			}
		}
	}
	return "", noBrowser(missing)
}

// start starts a browser and waits until it answers. noBrowser if there is none.
func start(ctx context.Context, c Config) (_ *chromium, err error) {
	program, err := find(c.Env)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "deft-browser-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for the browser's profile: %w", err)
	}
	b := &chromium{c: c, dir: dir, exited: make(chan struct{})}
	b.init()
	if err := b.run(program); err != nil {
		return nil, errors.Join(fmt.Errorf("start the browser: %w", err), os.RemoveAll(dir))
	}
	starting, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	if err := b.prepare(starting); err != nil {
		switch {
		case b.ended():
			err = noBrowser(fmt.Sprintf("%s ended at its start (%s): %s", program, b.cause(), b.stderr.String()))
		case ctx.Err() != nil:
			err = noBrowser("Nothing was done: the user has interrupted the start of the browser.")
		default:
			err = fmt.Errorf("start the browser: %w", err)
		}
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

// run starts the program. Its descriptors 3 and 4 are the connection: a port could be reached by other
// programs.
func (b *chromium) run(program string) error {
	in, toBrowser, err := os.Pipe()
	if err != nil {
		return err
	}
	fromBrowser, out, err := os.Pipe()
	if err != nil {
		return errors.Join(err, in.Close(), toBrowser.Close())
	}
	b.cmd = exec.CommandContext(context.Background(), program, b.flags()...)
	if b.c.Command != nil {
		b.cmd.Path, b.cmd.Args = b.c.Command(b.cmd.Path, b.cmd.Args)
	}
	b.cmd.ExtraFiles = []*os.File{in, out}
	b.cmd.Dir, b.cmd.Env, b.cmd.Stderr = b.dir, b.env(), &b.stderr
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	b.cmd.WaitDelay = time.Second // a helper that is left behind holds the output
	err = b.cmd.Start()
	err = errors.Join(err, in.Close(), out.Close())
	if b.cmd.Process == nil {
		return errors.Join(err, toBrowser.Close(), fromBrowser.Close())
	}
	b.conn = devtools.New(fromBrowser, toBrowser, b.event)
	go func() {
		b.err = b.cmd.Wait()
		close(b.exited)
	}()
	return err
}

// The size of pages, in pixels.
const width, height = 1280, 800

// flags are the browser's flags: no other connections than those of pages, no windows, and every frame of a
// page in one process, so that one session sees all of it.
func (b *chromium) flags() []string {
	flags := []string{
		"--remote-debugging-pipe", "--headless", "--user-data-dir=" + filepath.Join(b.dir, "profile"),
		fmt.Sprintf("--window-size=%d,%d", width, height), "--force-color-profile=srgb", "--hide-scrollbars", "--mute-audio",
		"--no-first-run", "--no-default-browser-check", "--no-pings", "--password-store=basic", "--use-mock-keychain",
		"--disable-background-networking", "--disable-breakpad", "--disable-client-side-phishing-detection", "--disable-component-update",
		"--disable-default-apps", "--disable-dev-shm-usage", "--disable-domain-reliability", "--disable-extensions", "--disable-gpu",
		"--disable-search-engine-choice-screen", "--disable-smooth-scrolling", "--disable-sync", "--metrics-recording-only", "--disable-site-isolation-trials",
		"--disable-features=IsolateOrigins,site-per-process,IsolateSandboxedIframes,MediaRouter,OptimizationHints,Translate",
	}
	if b.c.Isolated || os.Geteuid() == 0 || contained() { // its own sandbox needs namespaces, which others refuse
		flags = append(flags, "--no-sandbox")
	}
	if proxy := b.proxy(); proxy != "" {
		flags = append(flags, "--proxy-server="+proxy) // it does not use it for this machine
	}
	return append(flags, "about:blank")
}

// contained reports whether this process is in a container.
func contained() bool {
	for _, file := range []string{"/.dockerenv", "/run/.containerenv", "/var/run/secrets/kubernetes.io"} {
		if _, err := os.Stat(file); err == nil {
			return true
		}
	}
	return false
}

// proxy is the proxy of the environment, without a password, which Chromium does not take.
func (b *chromium) proxy() string {
	for _, v := range slices.Backward(b.c.Env) {
		name, value, _ := strings.Cut(v, "=")
		if n := strings.ToUpper(name); n != "HTTPS_PROXY" && n != "HTTP_PROXY" {
			continue
		}
		if u, err := url.Parse(value); err == nil && u.Host != "" {
			return u.Scheme + "://" + u.Host
		}
	}
	return ""
}

// env is the environment with a home of the browser's own.
func (b *chromium) env() []string {
	env := slices.DeleteFunc(slices.Clone(b.c.Env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return name == "HOME" || strings.HasPrefix(name, "XDG_") || name == "DBUS_SESSION_BUS_ADDRESS"
	})
	return append(env, "HOME="+b.dir, "DBUS_SESSION_BUS_ADDRESS=disabled:")
}

// prepare waits until the browser answers, and has it tell of pages and downloads.
func (b *chromium) prepare(ctx context.Context) error {
	yes, only := true, target.Filter{{Type: "page"}}
	if _, err := devtools.Call(ctx, b.conn, "", target.SetDiscoverTargets, target.SetDiscoverTargetsParams{Discover: true, Filter: only}); err != nil {
		return err
	}
	if _, err := devtools.Call(ctx, b.conn, "", target.SetAutoAttach, target.SetAutoAttachParams{
		AutoAttach: true, WaitForDebuggerOnStart: true, Flatten: &yes, Filter: only,
	}); err != nil {
		return err
	}
	if err := os.Mkdir(b.downloads(), 0o700); err != nil {
		return err
	}
	if _, err := devtools.Call(ctx, b.conn, "", browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: browser.SetDownloadBehaviorBehaviorAllowAndName, DownloadPath: b.downloads(), EventsEnabled: &yes,
	}); err != nil {
		return err
	}
	return b.wait(ctx, func() bool { return b.current != nil })
}

// downloads is the directory of downloads that are not complete.
func (b *chromium) downloads() string { return filepath.Join(b.dir, "downloads") }

// ended reports whether the browser has ended.
func (b *chromium) ended() bool {
	select {
	case <-b.conn.Done():
		return true
	case <-b.exited:
		return true
	default:
		return false
	}
}

// endTime is how long a browser that has closed its connection may take to exit.
const endTime = 5 * time.Second

// cause says how the browser has ended.
func (b *chromium) cause() string {
	select {
	case <-b.exited:
	case <-time.After(endTime):
		return "it has closed its connection"
	}
	if b.err == nil {
		return "exit status 0"
	}
	return b.err.Error()
}

// close ends the browser and everything that it has started, and removes its profile.
func (b *chromium) close() error {
	b.closing.Do(func() {
		if err := syscall.Kill(-b.cmd.Process.Pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			b.closed = err
		}
		<-b.exited // and so have its helpers, which hold its output
		b.closed = errors.Join(b.closed, b.conn.Close(), os.RemoveAll(b.dir))
	})
	return b.closed
}

// tail keeps the end of an output.
type tail struct {
	mu  sync.Mutex
	end []byte
}

const maxTail = 2000

// Write implements [io.Writer].
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = append(t.end, p...)
	if n := len(t.end) - maxTail; n > 0 {
		t.end = append(t.end[:0], t.end[n:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(string(t.end), "\uFFFD"))
}
