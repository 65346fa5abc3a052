package peer

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// owner returns the user of the socket that is at from and connected to to. A socket that
// its program has closed has none: the kernel shows it as root's.
func owner(from, to netip.AddrPort) (uid int, err error) {
	uid, err = ask(from, to)
	if errors.Is(err, errors.ErrUnsupported) {
		for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
			if uid, err = lookUp(table, from, to); err == nil {
				break
			}
		}
	}
	return uid, err
}

// connected reports whether a socket in a state (include/net/tcp_states.h) has a program.
func connected(state, inode uint64) bool {
	const established, finWait1, finWait2, closeWait = 1, 4, 5, 8
	return inode != 0 && (state == established || state == finWait1 || state == finWait2 || state == closeWait)
}

// ask asks by sock_diag(7). ErrUnsupported where that is not there, as in gVisor.
func ask(from, to netip.AddrPort) (uid int, err error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_INET_DIAG)
	if err != nil {
		return 0, errors.Join(errors.ErrUnsupported, err)
	}
	defer unix.Close(fd)
	timeout := unix.NsecToTimeval(int64(time.Second))
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout); err != nil {
		return 0, err
	}
	if err := unix.Sendto(fd, question(from, to), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return 0, errors.Join(errors.ErrUnsupported, err)
	}
	answer := make([]byte, 4096)
	n, _, err := unix.Recvfrom(fd, answer, 0)
	if err != nil {
		return 0, err
	}
	return read(answer[:n])
}

const (
	sockDiagByFamily = 20
	headerLen        = unix.NLMSG_HDRLEN
	requestLen       = 56 // struct inet_diag_req_v2
	messageLen       = 72 // struct inet_diag_msg
)

// question is a request for one TCP socket.
func question(from, to netip.AddrPort) []byte {
	b := make([]byte, headerLen+requestLen)
	binary.NativeEndian.PutUint32(b[0:], uint32(len(b)))
	binary.NativeEndian.PutUint16(b[4:], sockDiagByFamily)
	binary.NativeEndian.PutUint16(b[6:], unix.NLM_F_REQUEST)
	r := b[headerLen:]
	r[0], r[1] = unix.AF_INET6, unix.IPPROTO_TCP
	if from.Addr().Is4() {
		r[0] = unix.AF_INET
	}
	binary.NativeEndian.PutUint32(r[4:], ^uint32(0)) // every state
	id := r[8:]
	binary.BigEndian.PutUint16(id[0:], from.Port())
	binary.BigEndian.PutUint16(id[2:], to.Port())
	copy(id[4:20], from.Addr().AsSlice())
	copy(id[20:36], to.Addr().AsSlice())
	for i := 40; i < 48; i++ {
		id[i] = 0xff // no cookie
	}
	return b
}

// read reads the answer.
func read(b []byte) (uid int, err error) {
	if len(b) < headerLen+4 {
		return 0, errUnknown
	}
	body := b[headerLen:]
	switch kind := binary.NativeEndian.Uint16(b[4:]); {
	case kind == unix.NLMSG_ERROR:
		errno := unix.Errno(-int32(binary.NativeEndian.Uint32(body)))
		if errno == unix.ENOENT { // there is no such socket, or the kernel lacks the module
			return 0, errors.Join(errors.ErrUnsupported, errno)
		}
		return 0, errno
	case kind != sockDiagByFamily || len(body) < messageLen:
		return 0, errUnknown
	}
	user, inode := binary.NativeEndian.Uint32(body[64:]), binary.NativeEndian.Uint32(body[68:])
	if !connected(uint64(body[1]), uint64(inode)) {
		return 0, errUnknown
	}
	return int(user), nil
}

// lookUp reads a table of proc_net_tcp(5).
func lookUp(table string, from, to netip.AddrPort) (uid int, err error) {
	f, err := os.Open(table)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		// sl local remote st queues timer retransmits uid timeout inode
		part := strings.Fields(lines.Text())
		if len(part) < 10 || !strings.Contains(part[1], ":") {
			continue
		}
		local, lerr := address(part[1])
		remote, rerr := address(part[2])
		if lerr != nil || rerr != nil || local != from || remote != to {
			continue
		}
		state, serr := strconv.ParseUint(part[3], 16, 8)
		user, uerr := strconv.Atoi(part[7])
		inode, ierr := strconv.ParseUint(part[9], 10, 64)
		if err := errors.Join(serr, uerr, ierr); err != nil {
			return 0, fmt.Errorf("read %s: %w", table, err)
		}
		if !connected(state, inode) {
			return 0, errUnknown
		}
		return user, nil
	}
	return 0, errUnknown
}

// address reads an address of a table: words in the machine's order, in hexadecimal.
func address(s string) (netip.AddrPort, error) {
	host, port, _ := strings.Cut(s, ":")
	n, err := strconv.ParseUint(port, 16, 16)
	if err != nil || len(host) != 8 && len(host) != 32 {
		return netip.AddrPort{}, errUnknown
	}
	var raw []byte
	for ; host != ""; host = host[8:] {
		word, err := strconv.ParseUint(host[:8], 16, 32)
		if err != nil {
			return netip.AddrPort{}, err
		}
		raw = binary.NativeEndian.AppendUint32(raw, uint32(word))
	}
	a, _ := netip.AddrFromSlice(raw)
	return netip.AddrPortFrom(a.Unmap(), uint16(n)), nil
}
