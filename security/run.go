package security

import (
	"encoding/base64"
	"path"
	"slices"
	"strings"
)

// run judges a program with its arguments and returns what it writes.
func (j *judge) run(args []text, stdin text) text {
	if len(args) == 0 || !j.step() || !j.deeper() {
		return text{}
	}
	defer j.higher()
	name := args[0]
	switch {
	case name.fetched || name.proc != nil && name.proc.fetched:
		j.broken(railFetch, "what is fetched from the network is run as a command")
		return text{}
	case name.glob:
		name = globbed(name)
	}
	if !name.known || name.s == "" {
		return j.hidden(args, stdin)
	}
	rest := args[1:]
	if body := j.functions[name.s]; body != nil && !j.calling[name.s] {
		return j.enter(name.s, body, &params{rest}, stdin)
	}
	file := j.clean(name.s)
	if content, ok := j.files[file]; ok && strings.Contains(name.s, "/") {
		return j.runContent(content, rest, stdin)
	}
	base := strings.ToLower(path.Base(file)) // some file systems do not tell the case
	if do := programs[base]; do != nil {
		return do(j, base, rest, stdin)
	}
	switch {
	case strings.HasPrefix(base, "mkfs"):
		j.broken(railDisk, "a file system is made with "+base)
	case strings.HasPrefix(base, "ld-linux"), strings.HasPrefix(base, "ld-musl"):
		return j.run(afterOptions(rest, nil), stdin)
	case interpreterName().MatchString(base):
		return interpreter(j, base, rest, stdin)
	case stdin.fetched && !filters[base]:
		j.broken(railFetch, "what is fetched from the network is piped to "+base)
	}
	return text{fetched: stdin.fetched && filters[base]}
}

// runContent judges a file that is run and that the script has written.
func (j *judge) runContent(content text, rest []text, stdin text) text {
	switch {
	case content.fetched:
		j.broken(railFetch, "a file that is fetched from the network is run")
	case content.known:
		outer := j.params
		j.params = &params{rest}
		defer func() { j.params = outer }()
		return j.script(content.s, stdin, true)
	default:
		j.unsure("a file is run whose content cannot be known")
	}
	return text{}
}

// hidden judges a command whose program cannot be known: by its arguments.
func (j *judge) hidden(args []text, stdin text) text {
	if stdin.fetched {
		j.broken(railFetch, "what is fetched from the network is piped to a command that cannot be known")
	}
	d := j.readDelete(args[1:])
	if d.recursive && d.force {
		j.hiddenDelete = true
		j.unsure("a command that cannot be known has the options of a recursive delete")
	}
	if d.recursive && d.critical != "" {
		j.unsure("a command that cannot be known gets " + d.critical)
	}
	for _, a := range args[1:] {
		if _, value, _ := strings.Cut(a.s, "="); device(j.clean(a.s)) || device(value) {
			j.unsure("a command that cannot be known gets a device")
		}
	}
	return text{}
}

// globbed guesses which dangerous program a pattern means.
func globbed(name text) text {
	for _, candidate := range []string{"rm", "dd", "sh", "bash", "curl", "wget", "mkfs.ext4", "sudo", "env"} {
		if ok, err := path.Match(path.Base(name.s), candidate); ok && err == nil {
			return static(candidate)
		}
	}
	return text{}
}

// programs are those that mean something to the rails.
var programs map[string]func(j *judge, name string, args []text, stdin text) text

func init() { // the functions refer to the table
	programs = map[string]func(j *judge, name string, args []text, stdin text) text{
		"rm": remove, "dd": copyRaw, "shred": rawDevice, "wipefs": rawDevice, "blkdiscard": rawDevice, "sfdisk": rawDevice,
		"fdisk": rawDevice, "parted": rawDevice, "sgdisk": rawDevice, "mkswap": rawDevice, "tee": tee, "cp": writeDevice, "mv": writeDevice,
		"eval": evaluate, "source": source, ".": source, "trap": trap, "alias": alias, "cd": changeDir, "pushd": changeDir,
		"xargs": xargs, "find": find, "su": su, "runuser": su, "script": su,
		"echo": echo, "printf": printf, "cat": cat, "base64": decode, "true": quiet, ":": quiet, "false": quiet,
		"busybox": applet, "toybox": applet, "parallel": xargs, "at": stdinScript, "batch": stdinScript, "crontab": stdinScript,
	}
	for _, name := range []string{"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash", "fish"} {
		programs[name] = shell
	}
	for _, name := range []string{"curl", "wget", "fetch", "aria2c", "http", "https", "xh", "curlie", "lynx", "w3m", "links",
		"nc", "ncat", "netcat", "socat", "ftp", "lftp", "axel", "iwr", "invoke-webrequest"} {
		programs[name] = fetch
	}
	for name := range wrappers {
		programs[name] = wrapper
	}
}

// filters change text and run none of it, so that what is fetched may pass.
var filters = set("jq yq grep egrep fgrep rg ag head tail sort uniq wc cat tac less more cut tr rev nl fold fmt column gunzip gzip " +
	"zcat bunzip2 bzip2 xz unxz zstd unzstd xxd od hexdump md5sum sha1sum sha256sum sha512sum shasum cksum b2sum gpg gpgv diff cmp comm " +
	"paste strings iconv tidy xmllint pup htmlq sed tar bsdtar cpio unzip bat pv sponge json_pp read test [ pandoc csvtool mlr ts " +
	"gron dos2unix recode uconv split csplit wl-copy xclip pbcopy minisign cosign file stat true false")

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

func quiet(*judge, string, []text, text) text { return static("") }

func echo(_ *judge, _ string, args []text, _ text) text {
	out, decoded, newline := static(""), false, true
	for len(args) > 0 && args[0].known && len(args[0].s) > 1 && args[0].s[0] == '-' && strings.Trim(args[0].s[1:], "neE") == "" {
		decoded = decoded || strings.Contains(args[0].s, "e")
		newline = newline && !strings.Contains(args[0].s, "n")
		args = args[1:]
	}
	for i, a := range args {
		if i > 0 {
			out = out.and(static(" "))
		}
		out = out.and(a)
	}
	if decoded {
		out.s = unbackslash(out.s)
	}
	if newline {
		out.s += "\n"
	}
	return out
}

// printf writes static formats whose only verb is %s; others are unknown.
func printf(_ *judge, _ string, args []text, _ text) text {
	fetched := slices.ContainsFunc(args, func(a text) bool { return a.fetched })
	if len(args) > 0 && args[0].s == "--" {
		args = args[1:]
	}
	if len(args) == 0 || !args[0].known {
		return text{fetched: fetched}
	}
	format, rest := unbackslash(args[0].s), args[1:]
	verbs := strings.Count(strings.ReplaceAll(format, "%%", ""), "%")
	if verbs != strings.Count(strings.ReplaceAll(format, "%%", ""), "%s") {
		return text{fetched: fetched}
	}
	out := static("")
	for again := true; again; again = verbs > 0 && len(rest) > 0 {
		for i, piece := range strings.Split(format, "%s") {
			if i > 0 && len(rest) > 0 {
				out, rest = out.and(rest[0]), rest[1:]
			}
			out = out.and(static(strings.ReplaceAll(piece, "%%", "%")))
		}
	}
	return out
}

var backslashes = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\r`, "\r", `\x20`, " ", `\040`, " ", `\x2f`, "/", `\057`, "/")

// unbackslash decodes the usual escapes of echo -e and printf.
func unbackslash(s string) string { return backslashes.Replace(s) }

func cat(j *judge, _ string, args []text, stdin text) text {
	files := afterOptions(args, nil)
	if len(files) == 0 {
		return stdin
	}
	out := static("")
	for _, f := range files {
		if f.s == "-" {
			out = out.and(stdin)
			continue
		}
		out = out.and(j.file(f))
	}
	return out
}

// decode is base64: what it decodes is known if its input is.
func decode(j *judge, _ string, args []text, stdin text) text {
	in := cat(j, "", args, stdin)
	if !slices.ContainsFunc(args, func(a text) bool {
		return a.s == "-d" || a.s == "-D" || strings.HasPrefix("--decode", a.s) && len(a.s) > 2 || a.s == "-di"
	}) {
		return text{fetched: in.fetched}
	}
	b, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(in.s), ""))
	return text{s: string(b), known: in.known && err == nil, fetched: in.fetched}
}

func changeDir(j *judge, _ string, args []text, _ text) text {
	args = afterOptions(args, nil)
	switch {
	case len(args) == 0:
		j.cwd = "~"
	case args[0].known && args[0].s != "" && args[0].s != "-":
		j.cwd = j.clean(args[0].s) // relative to where the shell is, if that is all that is known
	default:
		j.cwd = ""
	}
	return static("")
}
