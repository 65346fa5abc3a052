package process_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox/internal/egresslisten"
	"golang.org/x/sys/unix"
)

// Addresses of the network that tests make: this machine's in it, and another
// machine's, which plays the rest of the world. They lead nowhere else: the
// namespaces have no other interface.
const (
	own4, own6         = "93.184.215.2", "2606:2800:21f::2"
	ownPrivate         = "10.20.30.2"
	world4, world6     = "93.184.215.14", "2606:2800:21f::14"
	private4, private6 = "10.20.30.14", "fd20:0:0:1::14"
	metadata           = "169.254.169.254"
)

// hostNames are the names that this machine resolves.
var hostNames = map[string][]string{
	"site.test": {world4, world6}, "other.test": {world4}, "six.test": {world6},
	"private.test": {private4}, "private6.test": {private6}, "loop.test": {"127.0.0.1", "::1"}, "own.test": {own4, own6}, "metadata.test": {metadata},
	"pypi.test": {world4}, "npm.test": {world4}, "goproxy.test": {world4}, "crates.test": {world4}, "git.test": {world4}, "maven.test": {world4},
}

// networkVariable makes a test process the one that has the network.
const networkVariable = "DEFT_TEST_NETWORK"

// internet is the network that a test process has to itself.
type internet struct {
	caFile string
	mux    *http.ServeMux // of the world
	port   string         // of the services of this machine, which no sandbox may reach
	hits   atomic.Int32   // requests to them
	world  atomic.Int32   // requests to the world
	paths  sync.Map       // the requests there
}

// asked reports whether a path was asked for, and forgets it.
func (n *internet) asked(path string) bool {
	_, ok := n.paths.LoadAndDelete(path)
	return ok
}

// inNetwork runs a test again in a user, network and mount namespace, where the
// process may make such a network. In there it returns the network; nil says that
// the test has been run.
func inNetwork(t *testing.T) *internet {
	t.Helper()
	switch os.Getenv(networkVariable) {
	case t.Name():
		return newInternet(t)
	case "":
	default:
		t.Skip("this process is for another test")
	}
	cmd := exec.CommandContext(t.Context(), executable(t), "-test.run=^"+t.Name()+"$", "-test.count=1", "-test.timeout=150s", "-test.v")
	cmd.Env = append(os.Environ(), networkVariable+"="+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNET | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := inNamespace(cmd)
	switch {
	case err != nil && len(out) == 0 && os.Getenv("CI") != "true":
		t.Skip("this host does not allow namespaces for tests: ", err)
	case err != nil:
		t.Fatalf("%v\n%s", err, out)
	}
	if strings.Contains(string(out), "--- SKIP: "+t.Name()+" ") {
		t.Skipf("%s", out)
	}
	if !strings.Contains(string(out), "--- PASS: "+t.Name()+" ") {
		t.Errorf("the test did not run: %s", out)
	}
	return nil
}

var dumpable sync.Mutex

// inNamespace runs a command whose ids os/exec maps, for which an ordinary user's
// process must be dumpable.
func inNamespace(cmd *exec.Cmd) ([]byte, error) {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	dumpable.Lock()
	err := unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0)
	if err == nil {
		err = cmd.Start()
	}
	err = errors.Join(err, unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0))
	dumpable.Unlock()
	if err != nil {
		return nil, err
	}
	err = cmd.Wait()
	return out.Bytes(), err
}

func newInternet(t *testing.T) *internet {
	t.Helper()
	n := &internet{mux: http.NewServeMux()}
	tid, made, opened := make(chan int), make(chan error), make(chan error)
	var listeners []net.Listener
	go func() { // on a thread in another namespace, which ends with this function
		runtime.LockOSThread()
		err := unix.Unshare(unix.CLONE_NEWNET)
		tid <- unix.Gettid()
		if up := <-made; err == nil {
			err = up
		}
		if err == nil {
			err = ip("link set lo up", "link set world up",
				"addr add "+world4+"/24 dev world", "addr add "+private4+"/24 dev world", "addr add "+metadata+"/16 dev world",
				"addr add "+world6+"/64 dev world nodad", "addr add "+private6+"/64 dev world nodad")
		}
		for _, address := range []string{":80", ":443"} {
			if err == nil {
				var l net.Listener
				l, err = net.Listen("tcp", address)
				listeners = append(listeners, l)
			}
		}
		opened <- err
	}()
	made <- ip("link set lo up", "link add host type veth peer name world", fmt.Sprint("link set world netns ", <-tid),
		"link set host up", "addr add "+own4+"/24 dev host", "addr add "+ownPrivate+"/24 dev host", "addr add 169.254.0.2/16 dev host",
		"addr add "+own6+"/64 dev host nodad", "addr add fd20:0:0:1::2/64 dev host nodad")
	err := <-opened
	if err == nil {
		err = n.resolve(t)
	}
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("no network for the test: ", err)
	}
	n.serve(t, listeners[0], listeners[1])
	return n
}

// ip runs commands of iproute2.
func ip(commands ...string) error {
	for _, c := range commands {
		if out, err := exec.Command("ip", strings.Fields(c)...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", c, err, out)
		}
	}
	return nil
}

// resolve makes this mount namespace's /etc/hosts know the names, and its
// /etc/resolv.conf no server.
func (n *internet) resolve(t *testing.T) error {
	hosts := "127.0.0.1 localhost\n::1 localhost\n"
	for name, addrs := range hostNames {
		for _, a := range addrs {
			hosts += a + " " + name + "\n"
		}
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	for path, text := range map[string]string{"/etc/hosts": hosts, "/etc/resolv.conf": "nameserver 127.0.0.99\noptions timeout:1 attempts:1\n"} {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return err
		}
		file := filepath.Join(t.TempDir(), filepath.Base(path))
		write(t, file, text)
		if err := unix.Mount(file, real, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("%s: %w", real, err)
		}
	}
	return nil
}

// serve starts the servers of the world, and services of this machine.
func (n *internet) serve(t *testing.T, plain, secure net.Listener) {
	t.Helper()
	certificate := n.authority(t)
	count := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.world.Add(1)
		n.paths.Store(r.URL.Path, true)
		n.mux.ServeHTTP(w, r)
	})
	world := &http.Server{Handler: count}
	worldTLS := &http.Server{Handler: count, TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}}}
	here, err := net.Listen("tcp", ":0")
	must.Succeed(t, err)
	_, n.port, _ = net.SplitHostPort(here.Addr().String())
	machine := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n.hits.Add(1)
		fmt.Fprint(w, "SERVICE OF THE HOST")
	})}
	go func() { _ = world.Serve(plain) }()
	go func() { _ = worldTLS.ServeTLS(secure, "", "") }()
	go func() { _ = machine.Serve(here) }()
	t.Cleanup(func() {
		world.Close()
		worldTLS.Close()
		machine.Close()
	})
	n.mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "WORLD") })
	n.mux.HandleFunc("/latest/meta-data/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "METADATA") })
	n.mux.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("url"), http.StatusTemporaryRedirect)
	})
}

// authority makes a certificate for all names, and the file with the authority
// that signed it.
func (n *internet) authority(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must.Succeed(t, err)
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Deft test authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		SubjectKeyId: []byte{1, 2, 3},
	}
	signed, err := x509.CreateCertificate(rand.Reader, ca, ca, key.Public(), key)
	must.Succeed(t, err)
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "world"}, NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for name := range hostNames {
		leaf.DNSNames = append(leaf.DNSNames, name)
	}
	leafKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must.Succeed(t, err)
	der, err := x509.CreateCertificate(rand.Reader, leaf, ca, leafKey.Public(), key)
	must.Succeed(t, err)
	n.caFile = filepath.Join(t.TempDir(), "ca.pem")
	write(t, n.caFile, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed})))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: leafKey}
}

func commandOutput(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).CombinedOutput()
	return string(out), err
}

// proxyOf returns the process id of the one proxy that this process has started.
func proxyOf(t *testing.T) string {
	t.Helper()
	found := ""
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	must.Succeed(t, err)
	for _, file := range all {
		line, err := os.ReadFile(file)
		if err != nil || !strings.HasPrefix(string(line), "deft\x00"+egresslisten.ProxyArg) {
			continue
		}
		pid := filepath.Base(filepath.Dir(file))
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil || !regexp.MustCompile(fmt.Sprintf(`\) [A-Z] %d `, os.Getpid())).Match(stat) {
			continue
		}
		if found != "" {
			t.Fatal("there are several proxies")
		}
		found = pid
	}
	if found == "" {
		t.Fatal("there is no proxy")
	}
	return found
}

// awaitExit waits until a process has ended.
func awaitExit(pid string) error {
	var n int
	if _, err := fmt.Sscan(pid, &n); err != nil {
		return err
	}
	fd, err := unix.PidfdOpen(n, 0)
	if err == unix.ESRCH {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	for {
		got, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 10_000)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return err
		case got == 0:
			return fmt.Errorf("the proxy %s has not ended with its sandbox", pid)
		default:
			return nil
		}
	}
}
