package security

import (
	"path"
	"strings"

	"github.com/deft-dev/deft/internal/lazyregexp"
)

// run analyzes a program with its arguments and returns its output.
func (cr *commandReader) run(args []text, stdin text) text {
	if len(args) == 0 || !cr.step() || !cr.nestIn() {
		return text{}
	}
	defer cr.nestOut()
	name := args[0]
	switch {
	case name.fetched || name.proc != nil && name.proc.fetched:
		cr.report(railFetch, "content from the network is run as a command")
		return text{}
	case name.glob && name.s != "[":
		cr.unknownProgram(args, stdin)
		name = globbed(name)
	}
	if !name.known || name.s == "" {
		return cr.unknownProgram(args, stdin)
	}
	rest := args[1:]
	if value, ok := cr.aliases[name.s]; ok && !cr.calling["alias "+name.s] {
		cr.calling["alias "+name.s] = true
		defer delete(cr.calling, "alias "+name.s)
		return cr.runScript(static(value+` "$@"`), append([]text{name}, rest...), stdin)
	}
	if body := cr.functions[name.s]; body != nil && !cr.calling[name.s] {
		return cr.enter(name.s, body, &params{rest}, stdin)
	}
	file := cr.clean(name.s)
	if content, ok := cr.files[file]; ok && strings.Contains(name.s, "/") {
		return cr.runContent(content, rest, stdin)
	}
	base := strings.ToLower(path.Base(file)) // some file systems do not tell the case
	if do := programs[base]; do != nil {
		return do(cr, base, rest, stdin)
	}
	switch {
	case base == "--": // time -- program
		return cr.run(rest, stdin)
	case strings.HasPrefix(base, "mkfs"), base == "mke2fs":
		cr.report(railDisk, "a file system is made with "+base)
	case strings.HasPrefix(base, "ld-linux"), strings.HasPrefix(base, "ld-musl"):
		return cr.run(afterOptions(rest, nil), stdin)
	case interpreterName().MatchString(base):
		return interpreter(cr, base, rest, stdin)
	case stdin.fetched && !filters[base]:
		cr.report(railFetch, "content from the network is piped to "+base)
	}
	return text{fetched: stdin.fetched && filters[base]}
}

// runContent analyzes a file that is run and that the script has written.
func (cr *commandReader) runContent(content text, rest []text, stdin text) text {
	if content.decoded {
		cr.show(signDecoded)
	}
	switch {
	case content.fetched:
		cr.report(railFetch, "a file from the network is run")
	case content.known:
		outer := cr.params
		cr.params = &params{rest}
		defer func() { cr.params = outer }()
		return cr.script(content.s, stdin, true)
	default:
		cr.reportUnknown("a file with unknown content is run")
	}
	return text{}
}

// unknownProgram analyzes a command whose program is unknown, by its arguments.
func (cr *commandReader) unknownProgram(args []text, stdin text) text {
	if stdin.fetched {
		cr.report(railFetch, "content from the network is piped to an unknown command")
	}
	d := cr.readDelete(args[1:])
	if d.recursive && d.force {
		cr.hiddenDelete = true
		cr.reportUnknown("an unknown command has the options of a recursive delete")
	}
	if d.recursive && d.critical != "" {
		cr.reportUnknown("an unknown command gets " + d.critical)
	}
	for i, a := range args[1:] {
		if scriptOption().MatchString(a.s) && i+2 < len(args) {
			cr.script(args[i+2].s, text{}, false) // perhaps a shell
		}
		if _, value, _ := strings.Cut(a.s, "="); device(cr.clean(a.s)) || device(value) {
			cr.reportUnknown("an unknown command gets a device")
		}
	}
	return text{}
}

// scriptOption are the options of shells with a script behind them.
var scriptOption = lazyregexp.New(`^-[a-z]*c$`)

// globbed guesses which dangerous program a pattern means.
func globbed(name text) text {
	for _, candidate := range []string{"rm", "dd", "sh", "bash", "curl", "wget", "mkfs.ext4", "sudo", "env"} {
		if ok, err := path.Match(path.Base(name.s), candidate); ok && err == nil {
			return static(candidate)
		}
	}
	return text{}
}

// programs are the programs that the rails know.
var programs map[string]func(cr *commandReader, name string, args []text, stdin text) text

func init() { // the functions refer to the table
	programs = map[string]func(cr *commandReader, name string, args []text, stdin text) text{
		"rm": remove, "rsync": mirror, "dd": copyRaw, "dcfldd": copyRaw, "dc3dd": copyRaw,
		"tee": tee, "sponge": tee, "cp": writeDevice, "mv": writeDevice, "install": writeDevice, "ln": writeDevice, "ddrescue": writeDevice,
		"eval": evaluate, "source": source, ".": source, "trap": trap, "alias": alias, "cd": changeDir, "pushd": changeDir,
		"set": setParams, "shift": shift, "hash": hash, "which": which,
		"xargs": xargs, "find": find, "su": su, "runuser": su, "script": su,
		"echo": echo, "printf": printf, "cat": cat, "base64": decode, "base32": decode, "openssl": openssl, "xxd": hexDump, "true": quiet, ":": quiet, "false": quiet,
		"busybox": applet, "toybox": applet, "parallel": parallel, "at": stdinScript, "batch": stdinScript, "crontab": schedule,
		"ssh": secureShell, "make": makefile, "gmake": makefile, "sed": sed, "gsed": sed,
	}
	for _, name := range []string{"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash", "fish"} {
		programs[name] = shell
	}
	for _, name := range []string{"curl", "wget", "fetch", "aria2c", "http", "https", "xh", "curlie", "lynx", "w3m", "links",
		"nc", "ncat", "netcat", "socat", "ftp", "lftp", "axel", "telnet", "iwr", "invoke-webrequest"} {
		programs[name] = fetch
	}
	for name := range deviceTools {
		programs[name] = rawDevice
	}
	for name := range commandOptions {
		if programs[name] == nil {
			programs[name] = runsOptions
		}
	}
	programs["tmux"] = runsOptions
	for _, name := range []string{"test", "[", "read", "let", "unset", "wait"} {
		programs[name] = subscript
	}
	for name := range wrappers {
		programs[name] = wrapper
	}
}

// filters change text and run none of it, so that fetched text may pass.
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

func quiet(*commandReader, string, []text, text) text { return static("") }
