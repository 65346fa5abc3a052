package profiles_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/settings/filestore"
	"github.com/deft-dev/deft/settings/profiles"
	"github.com/deft-dev/deft/spec"
)

func agent(t *testing.T, name, llm string) *schema.Map {
	t.Helper()
	p, err := profiles.ValidateAgent(schema.Of("name", name, "llm_profile_ref", llm))
	must.Succeed(t, err)
	return p
}

func TestIdentityIsTheStores(t *testing.T) {
	t.Parallel()
	s := profiles.Open(profiles.Options{Dir: t.TempDir()}).Agents
	ctx := t.Context()
	must.Succeed(t, s.Save(ctx, agent(t, "a.json", "x")))
	one, err := s.Load(ctx, "a")
	if err != nil || one.Text("name") != "a" {
		t.Fatal(one, err)
	}
	must.Succeed(t, s.Save(ctx, agent(t, "a", "y")))
	two, err := s.Load(ctx, "a.json")
	if err != nil || two.Text("id") != one.Text("id") || two.Get("revision") != schema.Count(1) || two.Text("llm_profile_ref") != "y" {
		t.Errorf("%v %v", two, err)
	}
	must.Succeed(t, s.Rename(ctx, "a", "b"))
	if name, err := s.NameOf(ctx, one.Text("id")); err != nil || name != "b" {
		t.Errorf("%q %v", name, err)
	}
	if err := s.Rename(ctx, "a", "c"); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
}

func TestNamesStayInTheirFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := profiles.Open(profiles.Options{Dir: dir})
	for _, name := range []string{"", ".", "..", "../x", "a/b", "/etc/x", "a\x00b", ".hidden", "-x", "é"} {
		if err := s.LLMs.Save(t.Context(), name, spec.NewLLM("m"), true); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v", name, err)
		}
		if _, err := s.LLMs.Load(t.Context(), name); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v", name, err)
		}
		if err := s.DeleteLLM(t.Context(), name); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestRenamingCascades(t *testing.T) {
	t.Parallel()
	s := profiles.Open(profiles.Options{Dir: t.TempDir()})
	ctx := t.Context()
	must.Succeed(t, s.LLMs.Save(ctx, "x", spec.NewLLM("m"), true))
	for i := range 3 {
		must.Succeed(t, s.Agents.Save(ctx, agent(t, fmt.Sprint("a", i), "x")))
	}
	if err := s.DeleteLLM(ctx, "x.json"); !fault.Is(err, fault.Conflict) {
		t.Errorf("deleted while it was named: %v", err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		must.Report(t, s.RenameLLM(ctx, "x", "y"))
	})
	for range 5 { // a reader sees the state before or after
		all.Go(func() {
			if _, err := s.Agents.List(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	list, err := s.Agents.List(ctx)
	must.Succeed(t, err)
	for _, one := range list {
		if *one.LLM != "y" {
			t.Errorf("%s names %s", one.Name, *one.LLM)
		}
	}
}

func TestBrokenFilesAreSteppedOver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := profiles.Open(profiles.Options{Dir: dir})
	must.Succeed(t, s.LLMs.Save(t.Context(), "good", spec.NewLLM("m"), true))
	for name, content := range map[string]string{"bad.json": "{", "list.json": "[]", "..odd.json": "{}", "new.json": `{"model":"m","schema_version":2}`} {
		must.Succeed(t, os.WriteFile(filepath.Join(dir, "profiles", name), []byte(content), 0o600))
	}
	list, err := s.LLMs.List(t.Context())
	if err != nil || len(list) != 2 || list[0].Name != "good" {
		t.Errorf("%+v %v", list, err)
	}
	for _, name := range []string{"bad", "list", "new"} {
		if _, err := s.LLMs.Load(t.Context(), name); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestConnections(t *testing.T) {
	t.Parallel()
	s := profiles.Open(profiles.Options{Dir: t.TempDir()})
	ctx := t.Context()
	for i := range 64 {
		if _, err := s.Connections.Create(ctx, profiles.Connection{ID: fmt.Sprint("c", i), DisplayName: "n", Provider: "p", APIKey: "k"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Connections.Create(ctx, profiles.Connection{ID: "more", DisplayName: "n", Provider: "p"}); !fault.Is(err, fault.Conflict) {
		t.Errorf("the 65th: %v", err)
	}
	c, err := s.Connections.Update(ctx, "c7", func(c *profiles.Connection) error { c.APIKey = "new"; return nil })
	if err != nil || c.APIKey.Reveal() != "new" {
		t.Error(c, err)
	}
	must.Report(t, s.Connections.Delete(ctx, "c7"))
	if err := s.Connections.Delete(ctx, "c7"); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
}

func TestLongFilesAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := profiles.Open(profiles.Options{Dir: dir})
	l := spec.NewLLM("m")
	l.ExtraHeaders = map[string]string{"X": strings.Repeat("y", 64<<10)}
	if err := s.LLMs.Save(t.Context(), "long", l, true); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "longer than 64 KiB") {
		t.Errorf("saved: %v", err)
	}
	for name, size := range map[string]int{"most": 64 << 10, "long": 64<<10 + 1} {
		raw := `{"model":"m"}`
		raw += strings.Repeat(" ", size-len(raw))
		must.Succeed(t, filestore.Write(filepath.Join(dir, "profiles", name+".json"), []byte(raw)))
		if _, err := s.LLMs.Load(t.Context(), name); fault.Is(err, fault.Invalid) != (name == "long") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFieldsWithoutAMeaningAreLogged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var log bytes.Buffer
	s := profiles.Open(profiles.Options{Dir: dir, Log: slog.New(slog.NewTextHandler(&log, nil))})
	for name, raw := range map[string]string{"odd": `{"model":"m","temprature":1}`, "plain": `{"model":"m","schema_version":1,"api_key_env":"K"}`} {
		must.Succeed(t, filestore.Write(filepath.Join(dir, "profiles", name+".json"), []byte(raw)))
		log.Reset()
		if _, err := s.LLMs.Profile(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(log.String(), "temprature"); got != (name == "odd") || name == "plain" && log.Len() > 0 {
			t.Errorf("%s: %s", name, &log)
		}
	}
}
