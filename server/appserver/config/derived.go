package config

import (
	"cmp"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/registryhosts"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/session"
)

// ReplicaAddress is where other servers on the same database reach a server that listens
// at an address, "" if they cannot.
func (s Server) ReplicaAddress(at net.Addr, log *slog.Logger) string {
	if s.ReplicaURL != "" {
		return s.ReplicaURL
	}
	own, err := netip.ParseAddrPort(at.String())
	if err != nil || s.TLSCertificate != "" { // a certificate is for a name
		return ""
	}
	if !own.Addr().IsUnspecified() {
		return "http://" + own.String()
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		log.Warn("other servers on the database cannot pass requests on to this one: set server.replica_url", "err", err)
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() {
			return "http://" + net.JoinHostPort(n.IP.String(), strconv.Itoa(int(own.Port())))
		}
	}
	return ""
}

// BrowserAddress is where a browser reaches the server. internal is its address on this
// machine.
func (s Server) BrowserAddress(internal string) string {
	switch {
	case s.PublicURL != "":
		return s.PublicURL
	case s.TLSCertificate != "":
		return strings.Replace(internal, "http://", "https://", 1)
	}
	return internal
}

// Logger is the log of the configuration, which was checked.
func (l Log) Logger(w io.Writer) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(l.Level)); err != nil {
		level = slog.LevelInfo
	}
	o := &slog.HandlerOptions{Level: level}
	if l.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// Networks are what commands of a task may reach in sandboxes of a class, as [Config.TaskNetwork]
// reads it: the setting, and others to choose from. There are none where the class cannot limit it.
func (c *Config) Networks(class sandbox.Class) []string {
	if !class.Has(sandbox.FeatureNetwork) {
		return nil
	}
	out := []string{string(cmp.Or(c.Sandbox.Net, sandbox.NetworkNone)), string(sandbox.NetworkNone)}
	if !c.Restricted() {
		out = append(out, strings.Join(registryhosts.Names(), ","), string(sandbox.NetworkOpen))
	}
	slices.Sort(out[1:])
	return slices.Compact(out)
}

// TaskNetwork reads the network that a task asks for. A server for others lets its users take less
// than the setting, and no more: Denied.
func (c *Config) TaskNetwork(class sandbox.Class, text string) (sandbox.Network, error) {
	if !class.Has(sandbox.FeatureNetwork) {
		return "", fault.New(fault.Unsupported, "sandboxes of the class "+c.Sandbox.Class+" do not limit what commands reach")
	}
	text, err := registryhosts.Expand(text, registryhosts.Source{Env: os.Getenv})
	if err != nil {
		return "", err
	}
	network, err := sandbox.ParseNetwork(text)
	if err == nil {
		err = network.Check()
	}
	if err != nil {
		return "", err
	}
	if c.Restricted() && !network.None() && network != c.Sandbox.Net {
		return "", fault.New(fault.Denied, "this server serves others: its tasks reach what its setting sandbox.net says, or nothing")
	}
	return network, nil
}

// Placement says how conversations in sandboxes of a class are isolated.
func (c *Config) Placement(class sandbox.Class) session.Placement {
	b, classes := c.Sandbox, c.Classes
	p := session.Placement{
		AgentClass: classes.Agent, RuntimeClass: classes.Runtime, ExecutorClass: classes.Executor, SandboxClass: b.Class,
		Network: b.Net, Limits: b.Limits(), Readable: b.Read, Writable: b.Write,
	}
	for name, value := range b.Environment {
		p.Env = append(p.Env, name+"="+value)
	}
	slices.Sort(p.Env)
	if class.Has(sandbox.FeatureImage) {
		p.Container = sandbox.Container{Image: b.Image, Pull: b.Pull, Runtime: b.OCIRuntime, DiskBytes: max(0, int64(b.Disk)), Mounts: b.Mounts}
	}
	return p
}
