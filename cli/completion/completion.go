// Package completion is `deft completion`: a script that completes commands and flags in
// bash, zsh or fish, made from the grammar that parses them.
//
// # Usage
//
//	type grammar struct {
//		Completion completion.Command `cmd:""`
//	}
package completion

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/deft-dev/deft/cli/stdio"
)

// Command prints a script that completes commands and flags.
type Command struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help is shown by `deft completion --help`.
func (c *Command) Help() string {
	return `  bash:  source <(deft completion bash)
  zsh:   source <(deft completion zsh)
  fish:  deft completion fish | source`
}

// Run prints the script, made from the same grammar that parses flags.
func (c *Command) Run(std *stdio.Streams, k *kong.Kong) error {
	var all []place
	collect(&all, "", k.Model.Node)
	switch c.Shell {
	case "fish":
		return fishCompletion(std.Out, all)
	case "zsh":
		if _, err := io.WriteString(std.Out, "autoload -U +X bashcompinit && bashcompinit\n"); err != nil {
			return err
		}
	}
	return bashCompletion(std.Out, all)
}

// place is a command, as its words, and its possible next words.
type place struct {
	path    string // "conversations export"
	aliases []string
	words   []string            // commands, and values of an argument
	flags   []string            // with their dashes
	values  map[string][]string // by flag that takes a value: its choices, if it has any
	kinds   map[string]string   // by flag: the list of `deft complete` for it; "" for arguments
}

func collect(all *[]place, path string, n *kong.Node) {
	p := place{path: path, aliases: n.Aliases, values: map[string][]string{}, kinds: map[string]string{}}
	for _, arg := range n.Positional {
		if arg.Enum != "" {
			p.words = append(p.words, arg.EnumSlice()...)
		}
		if kind := arg.Tag.Get("complete"); kind != "" {
			p.kinds[""] = kind
		}
	}
	for _, flags := range n.AllFlags(true) {
		for _, f := range flags {
			name := "--" + f.Name
			p.flags = append(p.flags, name)
			if f.IsBool() {
				continue
			}
			if kind := f.Tag.Get("complete"); kind != "" {
				p.kinds[name] = kind
			}
			p.values[name] = slices.DeleteFunc(f.EnumSlice(), func(v string) bool { return v == "" })
		}
	}
	slices.Sort(p.flags)
	at := len(*all)
	*all = append(*all, p)
	for _, c := range n.Children {
		if !c.Hidden {
			(*all)[at].words = append((*all)[at].words, c.Name)
			collect(all, strings.TrimSpace(path+" "+c.Name), c)
		}
	}
}

// parent splits a command into the command above it and its own name.
func (p place) parent() (string, string) {
	i := strings.LastIndexByte(p.path, ' ')
	return p.path[:max(i, 0)], p.path[i+1:]
}

func bashCompletion(w io.Writer, all []place) error {
	var b strings.Builder
	b.WriteString(`_deft_values() {
  local data=() i
  for ((i = 1; i < COMP_CWORD; i++)); do
    [[ ${COMP_WORDS[i]} == --data ]] && data=(--data "${COMP_WORDS[i+1]}")
  done
  deft "${data[@]}" complete "$1" 2>/dev/null | cut -f1
}
_deft() {
  local at='' w prev="${COMP_WORDS[COMP_CWORD-1]}" cur="${COMP_WORDS[COMP_CWORD]}" words='' flags='' kind=''
  for w in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$at $w" in
`)
	for _, p := range all {
		above, own := p.parent()
		if p.path == "" {
			continue
		}
		for _, name := range append([]string{own}, p.aliases...) {
			fmt.Fprintf(&b, "    '%s %s') at='%s' ;;\n", above, name, p.path)
		}
	}
	b.WriteString("    esac\n  done\n  COMPREPLY=()\n  case \"$at $prev\" in\n")
	for _, p := range all {
		for _, flag := range sortedKeys(p.values) {
			words := "'" + strings.Join(p.values[flag], " ") + "'"
			if kind := p.kinds[flag]; kind != "" {
				words = `"$(_deft_values ` + kind + `)"`
			}
			fmt.Fprintf(&b, "  '%s %s') COMPREPLY=($(compgen -W %s -- \"$cur\")); return ;;\n", p.path, flag, words)
		}
	}
	b.WriteString("  esac\n  case \"$at\" in\n")
	for _, p := range all {
		fmt.Fprintf(&b, "  '%s') words='%s' flags='%s' kind='%s' ;;\n", p.path, strings.Join(p.words, " "), strings.Join(p.flags, " "), p.kinds[""])
	}
	b.WriteString(`  esac
  case "$cur" in
  -*) COMPREPLY=($(compgen -W "$flags" -- "$cur")) ;;
  *) [[ $kind ]] && words+=" $(_deft_values "$kind")"
     COMPREPLY=($(compgen -W "$words" -- "$cur")) ;;
  esac
}
complete -o default -F _deft deft
`)
	_, err := io.WriteString(w, b.String())
	return err
}

func fishCompletion(w io.Writer, all []place) error {
	var b strings.Builder
	for _, p := range all {
		cond := "__fish_use_subcommand"
		if p.path != "" {
			_, own := p.parent()
			cond = "__fish_seen_subcommand_from " + strings.Join(append([]string{own}, p.aliases...), " ")
		}
		if kind := p.kinds[""]; kind != "" {
			fmt.Fprintf(&b, "complete -c deft -n '%s' -f -a '(deft complete %s 2>/dev/null)'\n", cond, kind)
		}
		for _, word := range p.words {
			fmt.Fprintf(&b, "complete -c deft -n '%s' -f -a %s\n", cond, word)
		}
		for _, flag := range p.flags {
			fmt.Fprintf(&b, "complete -c deft -n '%s' -l %s", cond, strings.TrimPrefix(flag, "--"))
			if choices, takes := p.values[flag]; takes {
				b.WriteString(" -r")
				if kind := p.kinds[flag]; kind != "" {
					fmt.Fprintf(&b, " -f -a '(deft complete %s 2>/dev/null)'", kind)
				} else if len(choices) > 0 {
					fmt.Fprintf(&b, " -f -a '%s'", strings.Join(choices, " "))
				}
			}
			b.WriteByte('\n')
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func sortedKeys(m map[string][]string) []string { return slices.Sorted(maps.Keys(m)) }
