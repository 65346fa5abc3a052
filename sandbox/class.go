package sandbox

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
)

// Class describes a kind of sandbox: everything that commands and servers need to know to
// offer it. Flags, checks of configurations, lists, warnings and `deft doctor` are made
// from the registered classes.
type Class struct {
	// Name chooses the class, for example "docker". Required.
	Name string
	// Summary says where a conversation works: "a container for each conversation".
	Summary string
	// Noun names one of its sandboxes in messages: "a container".
	Noun string
	// By is what runs its sandboxes, for messages: "the Docker engine".
	By string
	// Levels are the levels of isolation that users choose from, the default first; nil
	// for a class that has one only.
	Levels []Level
	// Accepts are the features that its sandboxes have.
	Accepts []Feature
	// Why explains what it does not accept: "the API's own settings decide on that".
	Why string
	// Image is the image of sandboxes that name none; "" for none.
	Image string
	// Inside is the usual directory of workspaces that are inside the sandboxes, and whose
	// files are reached through them; "" for workspaces on this machine's disk.
	Inside string
	// Needs is the service whose address it is made with: "a Runtime API"; "" for none.
	Needs string
	// PauseIdle says that a sandbox which nobody uses is paused, because it does not end
	// by itself after its grace time.
	PauseIdle bool
	// NoTrial says why no sandbox is started only to find out what isolates it; "" if one may be.
	NoTrial string
	// Warning is what an operator must know before choosing the class; "" for nothing.
	Warning string
	// Dir is the directory of its files, below the directory of all sandboxes; default: Name.
	Dir string
	// New makes the provider. It is called when a sandbox is first wanted, and connects
	// to nothing. Nil for a class that runs commands without a sandbox.
	New func(Config) (Provider, error) `json:"-"`
}

// Level is a level of isolation of a class.
type Level struct {
	Name string
	// Lacks are features of the class that this level does not have.
	Lacks []Feature
	// Open says that nothing is isolated.
	Open bool
}

// Config is what a provider is made from.
type Config struct {
	// Dir is for its own files.
	Dir string
	// Program is the path of the program for sandboxes; "" for this process's.
	Program string
	// Programs are further programs that a Spec's Argv may begin with. Each calls the stages
	// of sandboxes first, as Program does.
	Programs []string
	// Install writes Program if it is not there, before it is needed; nil if it is there.
	Install func() error
	// Level of isolation; "" for the default.
	Level string
	// Hidden are paths that no sandbox shows.
	Hidden []string
	// Installation is the name that programs on several machines have in common which
	// work on the same conversations, letters and digits; "" for this machine alone.
	Installation string
	// GitIdentity has commits in sandboxes carry the user's name and address.
	GitIdentity bool
}

// Feature is a part of a [Spec] that not all classes can do.
type Feature string

// Features.
const (
	FeatureImage      Feature = "image"           // Container.Image, Pull, User and Runtime
	FeatureBuild      Feature = "image build"     // the provider builds images (sandbox/image)
	FeatureMounts     Feature = "mounts"          // Container.Mounts
	FeatureExtraHosts Feature = "extra hosts"     // Container.ExtraHosts
	FeatureReadOnly   Feature = "read-only image" // Container.ReadOnly
	FeatureGPUs       Feature = "GPUs"            // Container.GPUs
	FeatureDisk       Feature = "disk limit"      // Container.DiskBytes
	FeatureNetwork    Feature = "network"         // Network
	FeatureGrants     Feature = "grants"          // Readable and Writable
	FeatureLimits     Feature = "limits"          // Limits
	FeatureAlias      Feature = "workspace-alias" // Alias
	FeaturePorts      Feature = "ports"           // a network of the sandbox's own, whose ports can be published
)

// OfContainers reports whether a feature is one of images and containers.
func (f Feature) OfContainers() bool {
	return slices.Contains([]Feature{
		FeatureImage, FeatureBuild, FeatureMounts, FeatureExtraHosts, FeatureReadOnly, FeatureGPUs, FeatureDisk,
	}, f)
}

// None is the class without sandboxes: commands run where the program runs.
var None = Class{
	Name: "none", Summary: "where the server runs, which itself should be a sandbox", Noun: "commands without a sandbox",
	Warning: "commands of agents have your rights on this machine",
}

// Made returns the class with its constructor.
func (c Class) Made(with func(Config) (Provider, error)) Class {
	c.New = with
	return c
}

// Has reports whether the class accepts a feature.
func (c Class) Has(f Feature) bool { return slices.Contains(c.Accepts, f) }

// level returns a level by name, "" for the default.
func (c Class) level(name string) Level {
	for i, l := range c.Levels {
		if l.Name == name || name == "" && i == 0 {
			return l
		}
	}
	return Level{}
}

// Open reports whether commands are not isolated at a level.
func (c Class) Open(level string) bool { return c.New == nil || c.level(level).Open }

// CheckLevel refuses a level that the class does not have.
func (c Class) CheckLevel(level string) error {
	switch {
	case level == "" || slices.ContainsFunc(c.Levels, func(l Level) bool { return l.Name == level }):
		return nil
	case len(c.Levels) == 0:
		return fault.New(fault.Invalid, c.Noun+" has no level of isolation "+level)
	}
	return fault.New(fault.Invalid, "unknown sandbox level "+level).Hint("use " + Or(c.LevelNames()))
}

// LevelNames are the names of its levels.
func (c Class) LevelNames() (names []string) {
	for _, l := range c.Levels {
		names = append(names, l.Name)
	}
	return names
}

// DirIn is the directory of the class's files below the directory of all sandboxes.
func (c Class) DirIn(base string) string {
	if c.Dir != "" {
		return filepath.Join(base, c.Dir)
	}
	return filepath.Join(base, c.Name)
}

// Check refuses a Spec that asks for a feature which the class does not accept. The error,
// of kind fault.Unsupported, names it.
func (c Class) Check(s Spec) error {
	o := s.Container
	for _, f := range []struct {
		feature Feature
		name    string
		set     bool
	}{
		{FeatureNetwork, "a network", !s.Network.None()},
		{FeatureGrants, "readable directories", len(s.Readable) > 0}, {FeatureGrants, "writable directories", len(s.Writable) > 0},
		{FeatureLimits, "limits", s.Limits != Limits{}}, {FeatureAlias, "a second path of the workspace", s.Alias != ""},
		{FeatureImage, "an image", o.Image != ""}, {FeatureImage, "a pull policy", o.Pull != ""},
		{FeatureImage, "a user", o.User != ""}, {FeatureMounts, "mounts", len(o.Mounts) > 0},
		{FeatureExtraHosts, "extra hosts", len(o.ExtraHosts) > 0}, {FeatureGPUs, "GPUs", o.GPUs != "" && o.GPUs != NoGPUs},
		{FeatureReadOnly, "a read-only image", o.ReadOnly}, {FeatureDisk, "a disk limit", o.DiskBytes > 0},
		{FeatureImage, "an OCI runtime", o.Runtime != ""},
	} {
		if f.set && !c.Has(f.feature) {
			return fault.New(fault.Unsupported, c.Noun+" cannot be given "+f.name).Hint(c.Why)
		}
	}
	return nil
}

// Asked is what a user asks of a sandbox: settings, and the feature that they need.
type Asked struct {
	Feature  Feature
	Settings []string // "--image"
	Given    bool     // one of the settings is given
}

// Classes are the registered classes, in the order in which users read them.
type Classes []Class

// Find returns a class by its name.
func (c Classes) Find(name string) (Class, error) {
	i := slices.IndexFunc(c, func(one Class) bool { return one.Name == name })
	if i < 0 {
		return Class{}, fault.New(fault.Invalid, "there is no sandbox class "+name).Hint("registered are " + strings.Join(c.Names(), ", "))
	}
	return c[i], nil
}

// Get returns a class by its name; one that accepts nothing for an unknown name.
func (c Classes) Get(name string) Class {
	found, _ := c.Find(name)
	return found
}

// With returns the classes with one more, which replaces one of the same name.
func (c Classes) With(one Class) Classes {
	c = slices.Clone(c)
	if i := slices.IndexFunc(c, func(old Class) bool { return old.Name == one.Name }); i >= 0 {
		c[i] = one
		return c
	}
	return append(c, one)
}

// Where returns the classes for which something holds.
func (c Classes) Where(holds func(Class) bool) (out Classes) {
	for _, one := range c {
		if holds(one) {
			out = append(out, one)
		}
	}
	return out
}

// Accepting returns the classes that accept a feature.
func (c Classes) Accepting(f Feature) Classes {
	return c.Where(func(one Class) bool { return one.Has(f) })
}

// Isolating returns the classes that have sandboxes.
func (c Classes) Isolating() Classes { return c.Where(func(one Class) bool { return one.New != nil }) }

// Outside returns the classes whose sandboxes have their workspaces on this machine's disk.
func (c Classes) Outside() Classes {
	return c.Isolating().Where(func(one Class) bool { return one.Inside == "" })
}

// Names are the names of the classes.
func (c Classes) Names() (names []string) {
	for _, one := range c {
		names = append(names, one.Name)
	}
	return names
}

// Help lists the classes with their summaries.
func (c Classes) Help() string {
	var parts []string
	for _, one := range c {
		parts = append(parts, one.Name+" ("+one.Summary+")")
	}
	return Or(parts)
}

// Images lists the images of sandboxes that name none: "docker: python:3.13".
func (c Classes) Images() string {
	var parts []string
	for _, one := range c {
		if one.Image != "" {
			parts = append(parts, one.Name+": "+one.Image)
		}
	}
	return strings.Join(parts, ", ")
}

// Choice is how people name a sandbox on a command line: by the level of a class, or by
// the name of a class that has no levels.
type Choice struct {
	Name  string
	Class Class
	Level string
}

// Has reports whether what was chosen has a feature.
func (c Choice) Has(f Feature) bool {
	return c.Class.Has(f) && !slices.Contains(c.Class.level(c.Level).Lacks, f)
}

// Open reports whether what was chosen isolates nothing.
func (c Choice) Open() bool { return c.Class.Open(c.Level) }

// Choices are the sandboxes that people can choose, the default first.
func (c Classes) Choices() (all []Choice) {
	for _, one := range c.Isolating() {
		if len(one.Levels) == 0 {
			all = append(all, Choice{one.Name, one, ""})
		}
		for _, l := range one.Levels {
			all = append(all, Choice{l.Name, one, l.Name})
		}
	}
	return all
}

// Choice returns what people mean by a name.
func (c Classes) Choice(name string) (Choice, error) {
	all := c.Choices()
	for _, one := range all {
		if one.Name == name {
			return one, nil
		}
	}
	return Choice{}, fault.New(fault.Invalid, "there is no sandbox "+name).Hint("use " + Or(names(all)))
}

// ChoiceNames are the names of Choices.
func (c Classes) ChoiceNames() []string { return names(c.Choices()) }

func names(all []Choice) (out []string) {
	for _, one := range all {
		out = append(out, one.Name)
	}
	return out
}

// ChoiceHelp lists what people can choose: levels by their names, other classes with
// their summaries.
func (c Classes) ChoiceHelp() string {
	var parts []string
	for _, one := range c.Isolating() {
		if len(one.Levels) > 0 {
			parts = append(parts, Or(one.LevelNames()))
		} else {
			parts = append(parts, one.Name+" ("+one.Summary+")")
		}
	}
	return strings.Join(parts, "; ")
}

// Refuse returns an error for the first feature that is asked for and that the chosen
// sandbox does not have. It names the settings, and a sandbox that has the feature.
func (c Classes) Refuse(chosen Choice, asked ...Asked) error {
	for _, a := range asked {
		if a.Given && !chosen.Has(a.Feature) {
			return c.refusal(chosen, a)
		}
	}
	return nil
}

func (c Classes) refusal(chosen Choice, a Asked) error {
	settings, verb, them := And(a.Settings), " are", "them"
	if len(a.Settings) == 1 {
		verb, them = " is", "it"
	}
	hint := "leave " + them + " out"
	if others := c.Accepting(a.Feature); len(others) > 0 {
		hint = fmt.Sprintf("add --sandbox %s, or leave %s out", others[0].Name, them)
	}
	switch {
	case a.Feature == FeaturePorts:
		return fault.New(fault.Invalid, "with --sandbox "+chosen.Name+" there is no network of the sandbox's own whose ports could be published").Hint("leave " + settings + " out")
	case a.Feature.OfContainers():
		return fault.New(fault.Invalid, settings+verb+" for containers").Hint(hint)
	case chosen.Class.Why != "":
		hint = chosen.Class.Why
	}
	return fault.New(fault.Invalid, settings+" cannot be given to "+chosen.Class.Noun).Hint(hint)
}

// Or joins words for people: "a, b or c".
func Or(words []string) string { return join(words, "or") }

// And joins words for people: "a, b and c".
func And(words []string) string { return join(words, "and") }

func join(words []string, last string) string {
	if n := len(words) - 1; n > 0 {
		return strings.Join(words[:n], ", ") + " " + last + " " + words[n]
	}
	return strings.Join(words, "")
}
