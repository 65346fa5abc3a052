package seccomp

import "golang.org/x/sys/unix"

// filterSocket allows the kinds of sockets that programs need. closed is for the
// level without namespaces: UNIX sockets cannot be made, and of Internet sockets,
// if network allows any, only TCP sockets, which Landlock then limits to one port.
// It knows no other protocol, such as MPTCP.
func filterSocket(b *assembler, closed, network bool) {
	families := []uint32{unix.AF_INET, unix.AF_INET6, unix.AF_UNIX}
	if closed {
		families = nil
	}
	if closed && network {
		b.load(dataArgs)
		b.jump(unix.BPF_JEQ, unix.AF_INET, 1, 0)
		b.jump(unix.BPF_JEQ, unix.AF_INET6, 0, 8)
		b.load(dataArgs + 8)
		b.stmt(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, 0xf) // without SOCK_CLOEXEC and SOCK_NONBLOCK
		b.jump(unix.BPF_JEQ, unix.SOCK_STREAM, 0, 4)
		b.load(dataArgs + 16)
		b.jump(unix.BPF_JEQ, 0, 1, 0)
		b.jump(unix.BPF_JEQ, unix.IPPROTO_TCP, 0, 1)
		b.allow()
		b.fail(uint32(unix.EACCES))
	}
	b.load(dataArgs)
	for _, f := range families {
		b.jump(unix.BPF_JEQ, f, 0, 1)
		b.allow()
	}
	// Of netlink only the protocols that list interfaces and addresses.
	b.jump(unix.BPF_JEQ, unix.AF_NETLINK, 0, 3)
	b.load(dataArgs + 16)
	b.jump(unix.BPF_JEQ, unix.NETLINK_ROUTE, 0, 1)
	b.allow()
	b.fail(uint32(unix.EAFNOSUPPORT))
}

// filterTCP closes the ways past Landlock's rules for TCP: connecting by sending
// (TCP Fast Open), and listening at a port that the kernel chooses.
func filterTCP(a *assembler) {
	a.on(unix.SYS_LISTEN, func(b *assembler) { b.fail(uint32(unix.EACCES)) })
	for _, c := range []struct{ nr, flags int }{{unix.SYS_SENDTO, 3}, {unix.SYS_SENDMSG, 2}, {unix.SYS_SENDMMSG, 3}} {
		a.on(c.nr, func(b *assembler) {
			b.load(uint32(dataArgs + 8*c.flags))
			b.jump(unix.BPF_JSET, unix.MSG_FASTOPEN, 0, 1)
			b.fail(uint32(unix.EOPNOTSUPP))
			b.allow()
		})
	}
}
