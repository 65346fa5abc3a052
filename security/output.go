package security

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/deft-dev/deft/internal/lazyregexp"
	"mvdan.cc/sh/v3/expand"
)

func echo(_ *commandReader, _ string, args []text, _ text) text {
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

// printf writes the known part of its output; formats with widths are unknown.
func printf(_ *commandReader, _ string, args []text, _ text) text {
	fetched := slices.ContainsFunc(args, func(a text) bool { return a.fetched })
	if len(args) > 0 && args[0].s == "--" {
		args = args[1:]
	}
	if len(args) == 0 || !args[0].known {
		return text{fetched: fetched}
	}
	format, rest := args[0].s, args[1:]
	if !plainFormat().MatchString(format) {
		return text{fetched: fetched}
	}
	out := static("")
	pieces := verb().FindAllStringIndex(format, -1)
	for again := true; again; again = len(pieces) > 0 && len(rest) > 0 {
		end := 0
		for _, at := range pieces {
			out = out.and(static(unbackslash(format[end:at[0]])))
			end = at[1]
			if format[end-1] == '%' {
				out = out.and(static("%"))
				continue
			}
			if len(rest) == 0 {
				continue
			}
			value := rest[0]
			rest = rest[1:]
			switch format[end-1] {
			case 'b':
				value.s = unbackslash(value.s)
			case 'c':
				value.s = value.s[:min(1, len(value.s))]
			}
			out = out.and(value)
		}
		out = out.and(static(unbackslash(format[end:])))
		if !slices.ContainsFunc(pieces, func(at []int) bool { return format[at[1]-1] != '%' }) {
			break // nothing takes an argument
		}
	}
	return out
}

var (
	plainFormat = lazyregexp.New(`^(?:[^%]|%[%sbc])*$`)
	verb        = lazyregexp.New(`%[%sbc]`)
)

// unbackslash decodes the escapes of echo -e and printf.
func unbackslash(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	// A configuration of its own: all calls with nil share one, without a lock.
	decoded, _, err := expand.Format(&expand.Config{}, s, nil)
	if err != nil {
		return s
	}
	return decoded
}

func cat(cr *commandReader, _ string, args []text, stdin text) text {
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
		out = out.and(cr.file(f))
	}
	return out
}

// decode is base64 or base32: its output is known if its input is.
func decode(cr *commandReader, name string, args []text, stdin text) text {
	in := cat(cr, "", args, stdin)
	if !slices.ContainsFunc(args, func(a text) bool {
		return a.s == "-d" || a.s == "-D" || strings.HasPrefix("--decode", a.s) && len(a.s) > 2 || a.s == "-di"
	}) {
		return text{fetched: in.fetched}
	}
	decodeString := base64.StdEncoding.DecodeString
	if name == "base32" {
		decodeString = base32.StdEncoding.DecodeString
	}
	b, err := decodeString(strings.Join(strings.Fields(in.s), ""))
	return text{s: string(b), known: in.known && err == nil, fetched: in.fetched, decoded: true}
}

// openssl analyzes openssl base64 -d and openssl enc -d -base64.
func openssl(cr *commandReader, _ string, args []text, stdin text) text {
	has := func(word string) bool { return slices.ContainsFunc(args, func(a text) bool { return a.s == word }) }
	switch {
	case has("s_client"):
		return text{fetched: true}
	case has("-d") && !has("base64") && !has("-base64") && !has("-a"), has("-d") && has("-in"):
		return text{fetched: stdin.fetched, decoded: true}
	case has("-in") || !has("base64") && !has("-base64") && !has("-a"):
		return text{fetched: stdin.fetched}
	case has("-d"):
		return decode(cr, "base64", []text{static("-d")}, stdin)
	}
	return text{fetched: stdin.fetched}
}

// hexDump analyzes xxd -r -p.
func hexDump(cr *commandReader, _ string, args []text, stdin text) text {
	options, in := "", cat(cr, "", args, stdin)
	for _, a := range args {
		if strings.HasPrefix(a.s, "-") {
			options += a.s
		}
	}
	if !strings.Contains(options, "r") || !strings.Contains(options, "p") {
		return text{fetched: in.fetched}
	}
	b, err := hex.DecodeString(strings.Join(strings.Fields(in.s), ""))
	return text{s: string(b), known: in.known && err == nil, fetched: in.fetched, decoded: true}
}
