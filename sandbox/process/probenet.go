package process

import (
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// dialTimeout is for hosts that do not answer; refusals come at once.
const dialTimeout = 2 * time.Second

func networkAttempts() []attempt {
	return []attempt{
		{"host-loopback", "connect to a service on the host's loopback", func(t targets) error {
			return reachService(t.TCP)
		}},
		{"tcp-out", "connect to addresses outside, the cloud's metadata service among them", func(targets) error {
			return refuseAll(dial("tcp", "169.254.169.254:80"), dial("tcp", "192.0.2.1:443"), dial("tcp", "[2001:db8::1]:443"))
		}},
		{"udp-out", "send a name query outside", sendQuery},
		{"raw-socket", "open raw and packet sockets", rawSockets},
		{"odd-sockets", "open sockets of rare families", oddSockets},
		{"abstract-socket", "connect to a socket of the host's abstract namespace", func(t targets) error {
			return dial("unix", t.Abstract)
		}},
		{"service-socket", "connect to a service's socket in a directory that is visible", func(t targets) error {
			return dial("unix", t.service())
		}},
		{"unix-socket", "connect to the sockets of the host's services", unixSockets},
	}
}

func dial(network, address string) error {
	c, err := net.DialTimeout(network, address, dialTimeout)
	if err != nil {
		return err
	}
	return c.Close()
}

// serviceName is the greeting of the targets' service.
const serviceName = "deft-doctor\n"

// reachService connects to the service of the targets. Its port may by chance be a port
// of a program inside, which does not say the name: then nothing outside was reached.
func reachService(address string) error {
	c, err := net.DialTimeout("tcp", address, dialTimeout)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(dialTimeout)); err != nil {
		return nil
	}
	said := make([]byte, len(serviceName))
	if _, err := io.ReadFull(c, said); err != nil || string(said) != serviceName {
		return errors.New("a program inside listens on " + address)
	}
	return nil
}

// sayName tells all that connect which service it is, until the listener is closed.
func sayName(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = io.WriteString(c, serviceName) // a few bytes, which the kernel takes at once
		c.Close()
	}
}

func sendQuery(targets) error {
	c, err := net.Dial("udp", "192.0.2.1:53")
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Write([]byte("query"))
	return err
}

func socket(family, kind int) error {
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func rawSockets(targets) error {
	return refuseAll(socket(unix.AF_INET, unix.SOCK_RAW), socket(unix.AF_INET6, unix.SOCK_RAW),
		socket(unix.AF_PACKET, unix.SOCK_RAW), socket(unix.AF_PACKET, unix.SOCK_DGRAM))
}

func oddSockets(targets) error {
	for _, f := range []int{unix.AF_VSOCK, unix.AF_ALG, unix.AF_KEY, unix.AF_CAN, unix.AF_BLUETOOTH, unix.AF_XDP, unix.AF_TIPC} {
		if err := socket(f, unix.SOCK_SEQPACKET); !errors.Is(err, unix.EAFNOSUPPORT) {
			return nil // the kernel accepted the family
		}
	}
	if fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER); err == nil {
		return unix.Close(fd)
	}
	return fmt.Errorf("refused: %w", unix.EAFNOSUPPORT)
}

func unixSockets(t targets) error {
	errs := []error{dial("unix", t.Socket)}
	for _, p := range []string{
		"/run/docker.sock", "/var/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock",
		"/run/dbus/system_bus_socket", "/tmp/.X11-unix/X0",
	} {
		errs = append(errs, dial("unix", p))
	}
	return refuseAll(errs...)
}
