package config_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/appserver/config"
	"github.com/deft-dev/deft/session/build"
)

var update = flag.Bool("update", false, "rewrite the table of docs/configuration.md")

// TestDocument checks that docs/configuration.md has the settings as they are.
func TestDocument(t *testing.T) {
	t.Parallel()
	const (
		file  = "../../../docs/configuration.md"
		begin = "<!-- go test ./server/appserver/config -update -->\n"
		end   = "<!-- end -->\n"
	)
	raw, err := os.ReadFile(file)
	must.Succeed(t, err)
	before, rest, ok := strings.Cut(string(raw), begin)
	is, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("the table is not marked")
	}
	table := settingsTable()
	if *update {
		must.Succeed(t, os.WriteFile(file, []byte(before+begin+table+end+after), 0o644))
		return
	}
	if d := cmp.Diff(table, is); d != "" {
		t.Error("docs/configuration.md is out of date: go test ./server/appserver/config -update\n", d)
	}
}

func settingsTable() string {
	var b strings.Builder
	b.WriteString("| Key | Variable | Flag | Default | Meaning |\n|---|---|---|---|---|\n")
	code := func(text string) string {
		if text == "" {
			return ""
		}
		return "`" + text + "`"
	}
	for _, s := range config.Settings() {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", code(s.Key), code(s.Variable), code(s.Flag), code(s.Default), s.Help)
	}
	return b.String()
}

// TestExample checks that the example is a file without an effect, and that each of its
// lines is right once it is no comment.
func TestExample(t *testing.T) {
	t.Parallel()
	example := config.Example()
	name := filepath.Join(t.TempDir(), "deft.toml")
	check := func(text string) error {
		must.Succeed(t, os.WriteFile(name, []byte(text), 0o600))
		_, report, err := config.Check(name, []string{"HOME=/home/u"}, build.StandardClasses().Sandboxes)
		if err == nil {
			for _, v := range report.Values {
				if text == example && v.Source.Kind != config.FromDefault {
					t.Errorf("%s has a value", v.Setting.Key)
				}
			}
		}
		return err
	}
	must.Report(t, check(example))
	lines := regexp.MustCompile(`(?m)^#([a-z_]+ = .*)$`)
	found := lines.FindAllStringSubmatchIndex(example, -1)
	if len(found) != len(config.Settings()) {
		t.Errorf("%d lines for %d settings", len(found), len(config.Settings()))
	}
	for i, at := range found {
		// Files and directories do not exist here, and some values need another class.
		line := example[at[2]:at[3]]
		err := check(example[:at[0]] + line + example[at[1]:])
		if err != nil && !strings.Contains(err.Error(), " has no effect ") && !regexp.MustCompile(`is not a directory|cannot be read|no variable|there is none of that name|cannot be kept|needs the other|needs auth\.`).MatchString(err.Error()) {
			t.Errorf("%s: %q: %v", config.Settings()[i].Key, line, err)
		}
	}
}
