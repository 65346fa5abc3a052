package process

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/deft-dev/deft/sandbox"
)

// modeAttempts lists the attempts in a sandbox with a network: this machine and
// the metadata services are refused in every mode.
func modeAttempts(n sandbox.Network) []attempt {
	prefix := "net-" + n.Mode() + "-"
	through := func(name, tried string, hosts func(targets) []string) attempt {
		return attempt{prefix + name, tried + " through the proxy", func(t targets) error {
			var errs []error
			for _, h := range hosts(t) {
				errs = append(errs, askProxy(http.MethodConnect, h), askProxy(http.MethodGet, h))
			}
			return refuseAll(errs...)
		}}
	}
	all := []attempt{
		through("loopback", "reach a service on the host's loopback", func(t targets) []string {
			_, port, _ := net.SplitHostPort(t.TCP)
			return []string{t.TCP, "localhost:" + port, "[::1]:" + port, "[::ffff:127.0.0.1]:" + port, "0.0.0.0:" + port}
		}),
		through("metadata", "reach the metadata services of clouds", func(targets) []string {
			return []string{"169.254.169.254:80", "[fd00:ec2::254]:80", "[64:ff9b::a9fe:a9fe]:80"}
		}),
		through("not-granted", "reach a host that is not granted", func(targets) []string {
			return []string{"10.255.255.254:80", "[fd00:dead::1]:443"}
		}),
		{prefix + "direct", "connect to the same without the proxy", func(t targets) error {
			return refuseAll(reachService(t.TCP), dial("tcp", "169.254.169.254:80"), dial("tcp", "192.0.2.1:443"), dial("tcp", "[2001:db8::1]:443"))
		}},
		{prefix + "dns", "send a name query outside", sendQuery},
	}
	return append(all, attempt{prefix + "own-address", "reach a service on the host's own address, through the proxy and without", func(t targets) error {
		if t.Own == "" {
			return errors.New("this host has no address but loopback")
		}
		return refuseAll(askProxy(http.MethodConnect, t.Own), askProxy(http.MethodGet, t.Own), dial("tcp", t.Own))
	}})
}

// askProxy asks the sandbox's proxy for a host. Only its refusal is an error: an
// answer of the host's, or a failure to reach it, means that it was allowed.
func askProxy(method, host string) error {
	proxy, err := url.Parse(os.Getenv("HTTPS_PROXY"))
	if err != nil || proxy.Host == "" {
		return nil // the refusing part is not there
	}
	conn, err := net.DialTimeout("tcp", proxy.Host, dialTimeout)
	if err != nil {
		return nil
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(dialTimeout)); err != nil {
		return nil
	}
	target := host
	if method != http.MethodConnect {
		target = "http://" + host + "/"
	}
	r, err := http.NewRequest(http.MethodGet, "http://"+host, nil)
	if err != nil {
		return nil
	}
	password, _ := proxy.User.Password()
	r.SetBasicAuth(proxy.User.Username(), password)
	fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: %s\r\nProxy-Authorization: %s\r\nConnection: close\r\n\r\n", method, target, host, r.Header.Get("Authorization"))
	resp, err := http.ReadResponse(bufio.NewReader(conn), r)
	if err != nil || resp.StatusCode != http.StatusForbidden {
		return nil
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1024))
	if err != nil || !strings.HasPrefix(string(text), "deft: ") {
		return nil
	}
	return errors.New(strings.TrimSpace(strings.TrimPrefix(string(text), "deft: ")))
}

// probedNetworks are the networks that the Doctor tries, with the host's own
// services granted by name, which must not help. The granted hosts of a list
// cannot be probed: nothing is sent to others.
func (t targets) probedNetworks() []sandbox.Network {
	granted := "localhost,127.0.0.1,::1,169.254.169.254,fd00:ec2::254"
	if host, _, err := net.SplitHostPort(t.Own); err == nil {
		granted += "," + host
	}
	return []sandbox.Network{sandbox.Network(granted), sandbox.NetworkOpen + "," + sandbox.Network(granted)}
}

// listenOwn listens on an address of the host that is not loopback, if it has one.
func listenOwn() net.Listener {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() {
			if l, err := net.Listen("tcp", net.JoinHostPort(n.IP.String(), "0")); err == nil {
				return l
			}
		}
	}
	return nil
}
