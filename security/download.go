package security

import (
	"path"
	"strings"
)

// fetch analyzes programs that get something from the network: where it goes.
func fetch(cr *commandReader, name string, args []text, stdin text) text {
	got := text{fetched: true}
	cr.connected(name, args)
	for _, a := range args {
		cr.statements(a.sink, text{fetched: true, piped: true})
	}
	to := readDownload(name, args)
	switch {
	case to.file != "" && to.file != "-" && to.file != "/dev/stdout":
		cr.files[cr.clean(to.dir+to.file)] = got
		if device(cr.clean(to.file)) {
			cr.report(railDisk, name+" writes to "+to.file)
		}
		return static("")
	case to.file == "" && to.remote:
		for _, u := range to.urls {
			u, _, _ = strings.Cut(u, "?")
			cr.files[cr.clean(to.dir+path.Base(u))] = got
		}
		return static("")
	}
	return got
}

// download is where a program writes a fetched file.
type download struct {
	dir    string // with a slash at its end; empty for the current directory
	file   string // empty if it is not named
	remote bool   // the name is the last part of the URL
	urls   []string
}

// readDownload reads the options of curl, wget and their like.
func readDownload(name string, args []text) download {
	to := download{remote: name == "wget" || name == "aria2c" || name == "axel"}
	for i := 0; i < len(args); i++ {
		a := args[i].s
		next := ""
		if i+1 < len(args) {
			next = args[i+1].s
		}
		switch {
		case name == "curl" && a == "--output-dir", name == "wget" && (a == "-P" || a == "--directory-prefix"):
			to.dir = next + "/"
			i++
		case !strings.HasPrefix(a, "-"):
			to.urls = append(to.urls, a)
		case a == "--output" || a == "--output-document" || a == "--download":
			to.file = next
			i++
		case strings.HasPrefix(a, "--output=") || strings.HasPrefix(a, "--output-document="):
			_, to.file, _ = strings.Cut(a, "=")
		case a == "--remote-name" || a == "--remote-name-all":
			to.remote = true
		case !strings.HasPrefix(a, "--"):
			file, isRemote, used := outputOption(name, a, next)
			to.file, to.remote = to.file+file, to.remote || isRemote
			if used {
				i++
			}
		}
	}
	return to
}

// outputOption reads a group of one-letter options for where the result goes.
// used says that the next word belongs to it.
func outputOption(name, group, next string) (file string, remote, used bool) {
	output, valued := byte('o'), "HdXuAebcFTxmwKEyYzCDPQrtUo"
	switch name {
	case "wget":
		output, valued = 'O', "OoaeitTwQPUlADIXR"
	case "lynx", "w3m", "links", "nc", "ncat", "netcat", "socat", "telnet", "lftp":
		return "", false, false
	}
	for i := 1; i < len(group); i++ {
		c := group[i]
		switch {
		case c == output && i+1 < len(group):
			return group[i+1:], remote, false
		case c == output:
			return next, remote, true
		case c == 'O' && name != "wget":
			remote = true
		case strings.IndexByte(valued, c) >= 0:
			return "", remote, i+1 == len(group)
		}
	}
	return "", remote, false
}

// connected analyzes programs that connect a program with the network.
func (cr *commandReader) connected(name string, args []text) {
	connection := text{fetched: true, piped: true}
	for i, a := range args {
		option, command, found := strings.Cut(a.s, "=")
		switch name {
		case "nc", "ncat", "netcat":
			if next := i + 1; !found && next < len(args) {
				command = args[next].s
			}
			program, _, _ := strings.Cut(command, " ")
			base := path.Base(program)
			_, special := programs[base]
			if option != "-e" && option != "--exec" && option != "--sh-exec" && (option != "-c" || !special && !strings.ContainsAny(command, "/ ")) {
				continue
			}
		case "socat":
			kind, rest, _ := strings.Cut(a.s, ":")
			if !strings.EqualFold(kind, "exec") && !strings.EqualFold(kind, "system") {
				continue
			}
			command, _, _ = strings.Cut(rest, ",")
		default:
			return
		}
		cr.runScript(static(command), nil, connection)
	}
}
