package security

import (
	"path"
	"strings"
)

// harmlessDevice are devices that hold nothing.
var harmlessDevice = lazily(`^/dev/(null|zero|full|tty\w*|stdin|stdout|stderr|fd(/\d+)?|shm(/.*)?|pts(/\d+)?|random|urandom|tcp/.*|udp/.*)$`)

// device reports whether writing to a path writes to a device.
func device(p string) bool {
	p = path.Clean(p)
	return strings.HasPrefix(p, "/dev/") && !harmlessDevice().MatchString(p)
}

// copyRaw judges dd.
func copyRaw(j *judge, _ string, args []text, stdin text) text {
	to := ""
	for _, a := range args {
		key, value, _ := strings.Cut(a.s, "=")
		if strings.EqualFold(key, "of") && a.known {
			to = value
		}
		switch {
		case strings.EqualFold(key, "of") && device(j.clean(value)):
			j.broken(railDisk, "dd writes to "+value)
		case !a.known && (key == "" || strings.EqualFold(key, "of") && (value == "" || strings.HasPrefix(value, "/dev"))):
			j.unsure("dd writes to what cannot be known")
		}
	}
	if to != "" {
		j.files[j.clean(to)] = stdin
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

// rawDevice judges programs that change the device that they are given.
func rawDevice(j *judge, name string, args []text, stdin text) text {
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
		case device(j.clean(a.s)) || name == "qemu-img" && strings.HasPrefix(a.s, "of=") && device(j.clean(value)):
			changed = a.s
		}
	}
	if changes && changed != "" {
		j.broken(railDisk, name+" changes "+changed)
	}
	return text{fetched: stdin.fetched && filters[name]}
}

// writeDevice judges cp, mv and their like, whose last argument is written to.
func writeDevice(j *judge, name string, args []text, _ text) text {
	if len(args) > 1 && device(j.clean(args[len(args)-1].s)) {
		j.broken(railDisk, name+" writes to "+args[len(args)-1].s)
	}
	if files := afterOptions(args, nil); len(files) == 2 && files[0].known && files[1].known {
		if content, ok := j.files[j.clean(files[0].s)]; ok {
			j.files[j.clean(files[1].s)] = content
		}
	}
	return static("")
}

func tee(j *judge, name string, args []text, stdin text) text {
	for _, a := range afterOptions(args, nil) {
		if a.sink != nil {
			in := stdin
			in.piped = true
			j.statements(a.sink, in)
			continue
		}
		if device(j.clean(a.s)) {
			j.broken(railDisk, name+" writes to "+a.s)
		}
		if a.known {
			j.files[j.clean(a.s)] = stdin
		}
	}
	return stdin
}
