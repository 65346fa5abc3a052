package policy_test

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// graph has the folders that the files of a folder import.
type graph map[string]map[string]bool

func (g graph) add(from, to string) {
	if from != to {
		if g[from] == nil {
			g[from] = map[string]bool{}
		}
		g[from][to] = true
	}
}

// circle returns folders of which each imports the next one and the last one the first, or nil.
func (g graph) circle() []string {
	done := map[string]bool{}
	var visit func(at string, way []string) []string
	visit = func(at string, way []string) []string {
		if i := slices.Index(way, at); i >= 0 {
			return way[i:]
		}
		if done[at] {
			return nil
		}
		way = append(way, at)
		for _, to := range slices.Sorted(maps.Keys(g[at])) {
			if c := visit(to, way); c != nil {
				return c
			}
		}
		done[at] = true
		return nil
	}
	for _, from := range slices.Sorted(maps.Keys(g)) {
		if c := visit(from, nil); c != nil {
			return c
		}
	}
	return nil
}

// upward returns the relations between folders in which the imported folder is the higher one: it
// has a package of a layer above all layers of the folder that imports it. Programs and tests
// are above everything.
func (g graph) upward(layerOf map[string]int) []string {
	var out []string
	for _, from := range slices.Sorted(maps.Keys(g)) {
		own, ok := layerOf[from]
		for _, to := range slices.Sorted(maps.Keys(g[from])) {
			if ok && layerOf[to] > own {
				out = append(out, from+" → "+to)
			}
		}
	}
	return out
}

// mostUpward is how many relations between folders may point upwards.
const mostUpward = 4

var tsImport = regexp.MustCompile(`(?:from|import) *\(? *'(\.[^']*)'`)

// TestFolders holds that neither the folders at the top nor the folders of the web app import
// each other in a circle, and that few imports lead to a higher folder.
func TestFolders(t *testing.T) {
	t.Parallel()
	top := func(p string) string {
		first, _, _ := strings.Cut(p, "/")
		return first
	}
	ours, layerOf := graph{}, map[string]int{}
	for _, p := range packages(t) {
		if k, layer, _ := classify(p.Path); k != program && k != fortests {
			layerOf[top(p.Path)] = max(layerOf[top(p.Path)], layer)
		}
		for _, to := range p.Imports {
			ours.add(top(p.Path), top(to))
		}
	}
	if c := ours.circle(); c != nil {
		t.Errorf("packages of these folders import each other: %v", c)
	}
	if up := ours.upward(layerOf); len(up) > mostUpward {
		t.Errorf("%d relations between folders point upwards, more than %d: %q", len(up), mostUpward, up)
	}
	page := graph{}
	for _, f := range files(t, ".ts", ".tsx") {
		if !strings.HasPrefix(f, "web/src/") {
			continue
		}
		for _, m := range tsImport.FindAllStringSubmatch(read(t, f), -1) {
			page.add(path.Dir(f), path.Dir(path.Join(path.Dir(f), m[1])))
		}
	}
	if c := page.circle(); c != nil {
		t.Errorf("files of these folders import each other: %v", c)
	}
	if len(ours) < 20 || len(page) < 10 {
		t.Errorf("only %d and %d folders found: the test tests nothing", len(ours), len(page))
	}
}

// TestCircle proves that the rule can fail.
func TestCircle(t *testing.T) {
	t.Parallel()
	g := graph{}
	for _, e := range [][2]string{{"a", "b"}, {"b", "c"}, {"a", "c"}, {"c", "c"}, {"d", "a"}} {
		g.add(e[0], e[1])
	}
	if c := g.circle(); c != nil {
		t.Errorf("a circle where there is none: %v", c)
	}
	g.add("c", "b")
	if diff := cmp.Diff([]string{"b", "c"}, g.circle()); diff != "" {
		t.Errorf("the circle (-want +got):\n%s", diff)
	}
}

// TestUpward proves that the rule can fail.
func TestUpward(t *testing.T) {
	t.Parallel()
	g := graph{}
	for _, e := range [][2]string{{"low", "high"}, {"high", "low"}, {"low", "same"}, {"program", "high"}} {
		g.add(e[0], e[1])
	}
	if diff := cmp.Diff([]string{"low → high"}, g.upward(map[string]int{"low": 1, "same": 1, "high": 2})); diff != "" {
		t.Errorf("relations that point upwards (-want +got):\n%s", diff)
	}
}
