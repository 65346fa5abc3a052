package config

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/tomlfile"
	"github.com/deft-dev/deft/sandbox"
)

// Example returns a file with all settings, commented out.
func Example() string {
	var b strings.Builder
	b.WriteString(`# Settings of deft serve. A line without the # before it overrides the default.
#
# Of these files each overrides those before it: /etc/deft/deft.toml,
# ~/.config/deft/deft.toml and that of --config. Variables override files, and flags
# override variables. "deft config" shows which value is used and where it comes from.
`)
	section := ""
	for _, s := range Settings() {
		name := s.Key
		if table, key, ok := strings.Cut(s.Key, "."); ok {
			if table != section {
				fmt.Fprintf(&b, "\n[%s]\n", table)
			}
			section, name = table, key
		}
		b.WriteString("\n" + comment(s.Help))
		fmt.Fprintf(&b, "# %s.\n", places(s))
		if s.Default != "" {
			fmt.Fprintf(&b, "#%s = %s\n", name, s.TOML(s.Default))
		} else {
			fmt.Fprintf(&b, "#%s = %s\n", name, s.TOML(s.Example))
		}
	}
	return b.String()
}

// places names the variable and the flag.
func places(s Setting) string {
	text := "Variable " + s.Variable
	if s.Flag != "" {
		text += ", flag " + s.Flag
	}
	if s.Default == "" {
		text += "; no default, below is an example"
	}
	return text
}

// comment breaks a text into lines of comments.
func comment(text string) string {
	var b strings.Builder
	line := "#"
	for word := range strings.FieldsSeq(text) {
		if len(line)+1+len(word) > 90 {
			b.WriteString(line + "\n")
			line = "#"
		}
		line += " " + word
	}
	return b.String() + line + "\n"
}

// noFileHint is the next step where a file that was named is not there.
const noFileHint = "look at its name, or write one: deft config example > deft.toml"

// Check checks one of our own files alone, with the defaults for missing settings, and the
// environment for the variables that it names. The error has one line for each mistake.
func Check(name string, environ []string, classes sandbox.Classes) (*Config, *Report, error) {
	l := newLoader(Sources{Environ: environ, Classes: classes})
	l.defaults()
	l.current++
	f, err := tomlfile.Read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fault.New(fault.Invalid, "the configuration file "+name+" does not exist").Hint(noFileHint)
	}
	if err != nil {
		return nil, nil, err
	}
	l.entries(f)
	return l.finish()
}
