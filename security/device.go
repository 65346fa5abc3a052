package security

import (
	"path"
	"strings"

	"github.com/deft-dev/deft/internal/lazyregexp"
)

// harmlessDevice are devices that hold nothing.
var harmlessDevice = lazyregexp.New(`^/dev/(null|zero|full|tty\w*|stdin|stdout|stderr|fd(/\d+)?|shm(/.*)?|pts(/\d+)?|random|urandom|tcp/.*|udp/.*)$`)

// device reports whether writing to a path writes to a device.
func device(p string) bool {
	p = path.Clean(p)
	return strings.HasPrefix(p, "/dev/") && !harmlessDevice().MatchString(p)
}

// copyRaw analyzes dd.
func copyRaw(cr *commandReader, _ string, args []text, stdin text) text {
	to := ""
	for _, a := range args {
		key, value, _ := strings.Cut(a.s, "=")
		if strings.EqualFold(key, "of") && a.known {
			to = value
		}
		switch {
		case strings.EqualFold(key, "of") && device(cr.clean(value)):
			cr.report(railDisk, "dd writes to "+value)
		case !a.known && (key == "" || strings.EqualFold(key, "of") && (value == "" || strings.HasPrefix(value, "/dev"))):
			cr.reportUnknown("dd writes to an unknown file")
		}
	}
	if to != "" {
		cr.files[cr.clean(to)] = stdin
		return static("")
	}
	return text{fetched: stdin.fetched}
}

// deviceTools are programs that change the device that they are given: with
// one of these words or options if there are any, never with one of the others.
var deviceTools = map[string]struct{ with, never string }{
	"shred": {}, "blkdiscard": {}, "mkswap": {}, "pvcreate": {}, "truncate": {}, "e2image": {with: "-r -ra -a"}, "pv": {with: "-o --output"},
	"wipefs": {never: "-n --no-act"}, "fdisk": {never: "-l --list"}, "sfdisk": {never: "-l --list -n --no-act -d --dump -V --verify"},
	"parted": {never: "-l --list print"}, "sgdisk": {never: "-p --print -v --verify -i"},
	"cryptsetup": {with: "luksFormat reencrypt erase luksErase"}, "mdadm": {with: "--create -C --zero-superblock"},
	"zpool": {with: "create labelclear"}, "nvme": {with: "format sanitize write write-zeroes"},
	"hdparm":    {with: "--security-erase --security-erase-enhanced --trim-sector-ranges --write-sector --make-bad-sector"},
	"badblocks": {with: "-w -wsv -ws -wv -svw -sw"}, "qemu-img": {with: "convert dd"},
}

// rawDevice analyzes programs that change the device that they are given.
func rawDevice(cr *commandReader, name string, args []text, stdin text) text {
	tool := deviceTools[name]
	with, never := set(tool.with), set(tool.never)
	changes, changed := len(with) == 0, ""
	for _, a := range args {
		_, value, _ := strings.Cut(a.s, "=") // qemu-img dd of=
		switch {
		case never[a.s]:
			return text{}
		case with[a.s]:
			changes = true
		case device(cr.clean(a.s)) || name == "qemu-img" && strings.HasPrefix(a.s, "of=") && device(cr.clean(value)):
			changed = a.s
		}
	}
	if stdin.fetched && !filters[name] {
		cr.report(railFetch, "content from the network is piped to "+name)
	}
	if changes && changed != "" {
		cr.report(railDisk, name+" changes "+changed)
	}
	return text{fetched: stdin.fetched && filters[name]}
}

// writeDevice analyzes cp, mv and their like, whose last argument is written to.
func writeDevice(cr *commandReader, name string, args []text, stdin text) text {
	if len(args) > 1 && device(cr.clean(args[len(args)-1].s)) {
		cr.report(railDisk, name+" writes to "+args[len(args)-1].s)
	}
	if name == "install" && stdin.fetched {
		cr.report(railFetch, "content from the network is piped to install")
	}
	if files := afterOptions(args, nil); len(files) == 2 && files[0].known && files[1].known {
		if content, ok := cr.files[cr.clean(files[0].s)]; ok {
			cr.files[cr.clean(files[1].s)] = content
		}
	}
	return static("")
}

func tee(cr *commandReader, name string, args []text, stdin text) text {
	for _, a := range afterOptions(args, nil) {
		if a.sink != nil {
			in := stdin
			in.piped = true
			cr.statements(a.sink, in)
			continue
		}
		if device(cr.clean(a.s)) {
			cr.report(railDisk, name+" writes to "+a.s)
		}
		if a.known {
			cr.files[cr.clean(a.s)] = stdin
		}
	}
	return stdin
}
