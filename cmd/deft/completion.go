package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// completionCmd prints a script that completes commands and flags.
type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help is shown by `deft completion --help`.
func (c *completionCmd) Help() string {
	return `  bash:  source <(deft completion bash)
  zsh:   source <(deft completion zsh)
  fish:  deft completion fish | source`
}

// Run prints the script, made from the same grammar that parses flags.
func (c *completionCmd) Run(std *streams, k *kong.Kong) error {
	words := map[string][]string{}
	collect(words, "", k.Model.Node)
	switch c.Shell {
	case "fish":
		return fishCompletion(std.out, words)
	case "zsh":
		if _, err := io.WriteString(std.out, "autoload -U +X bashcompinit && bashcompinit\n"); err != nil {
			return err
		}
	}
	return bashCompletion(std.out, words)
}

// collect maps each command, as its words, to what may follow it.
func collect(words map[string][]string, path string, n *kong.Node) {
	var next []string
	for _, c := range n.Children {
		if !c.Hidden {
			next = append(next, c.Name)
			collect(words, strings.TrimSpace(path+" "+c.Name), c)
		}
	}
	for _, flags := range n.AllFlags(true) {
		for _, f := range flags {
			next = append(next, "--"+f.Name)
		}
	}
	slices.Sort(next)
	words[path] = slices.Compact(next)
}

func bashCompletion(w io.Writer, words map[string][]string) error {
	var b strings.Builder
	b.WriteString("_deft() {\n  local path='' w\n  for w in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n    case \"$path $w\" in\n")
	for _, path := range sortedKeys(words) {
		if path != "" {
			fmt.Fprintf(&b, "    ' %s'|'%s') path='%s' ;;\n", path, path, path)
		}
	}
	b.WriteString("    esac\n  done\n  case \"$path\" in\n")
	for _, path := range sortedKeys(words) {
		fmt.Fprintf(&b, "  '%s') COMPREPLY=($(compgen -W '%s' -- \"${COMP_WORDS[COMP_CWORD]}\")) ;;\n", path, strings.Join(words[path], " "))
	}
	b.WriteString("  esac\n}\ncomplete -o default -F _deft deft\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func fishCompletion(w io.Writer, words map[string][]string) error {
	var b strings.Builder
	for _, path := range sortedKeys(words) {
		cond := "__fish_use_subcommand"
		if path != "" {
			cond = "__fish_seen_subcommand_from " + path[strings.LastIndexByte(path, ' ')+1:]
		}
		for _, next := range words[path] {
			if long, ok := strings.CutPrefix(next, "--"); ok {
				fmt.Fprintf(&b, "complete -c deft -n '%s' -l %s\n", cond, long)
			} else {
				fmt.Fprintf(&b, "complete -c deft -n '%s' -f -a %s\n", cond, next)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func sortedKeys(m map[string][]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
