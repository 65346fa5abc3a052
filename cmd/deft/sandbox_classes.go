package main

import (
	"cmp"
	"fmt"
	"os"
	"reflect"
	"strings"
	"sync"

	"github.com/alecthomas/kong"

	"github.com/deft-dev/deft/cli/runcommand"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/registryhosts"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/process"
	"github.com/deft-dev/deft/sandbox/remote"
	"github.com/deft-dev/deft/session/build"
)

// sandboxClasses are the registered classes of sandboxes.
var sandboxClasses = sync.OnceValue(func() sandbox.Classes { return build.StandardClasses().Sandboxes })

// autoSandbox is the choice of who chooses none.
const autoSandbox = process.LevelAuto

// withoutImages are the classes in which commands use the programs of this machine.
func withoutImages() sandbox.Classes {
	return sandboxClasses().Where(func(c sandbox.Class) bool { return !c.Has(sandbox.FeatureImage) })
}

// trialClasses are the classes whose sandboxes may be started only to look at
// them.
func trialClasses() sandbox.Classes {
	return sandboxClasses().Where(func(c sandbox.Class) bool { return c.NoTrial == "" })
}

// sandboxVars writes the words that the registered classes decide into the texts of flags.
// Variables of kong itself would be slower by ten milliseconds at every start: at each flag
// it looks for further variables in the values of all of them.
func sandboxVars() kong.Option {
	return kong.PostBuild(func(k *kong.Kong) error {
		words := sync.OnceValue(sandboxWords)
		return kong.Visit(k.Model, func(node kong.Visitable, next kong.Next) error {
			if v, ok := node.(*kong.Value); ok {
				for _, text := range []*string{&v.Help, &v.Enum} {
					if strings.Contains(*text, "${") {
						*text = words().Replace(*text)
					}
				}
			}
			return next(nil)
		})
	})
}

// sandboxWords replaces the variables in texts of flags.
func sandboxWords() *strings.Replacer {
	all := sandboxClasses()
	accepting := func(f sandbox.Feature) string { return sandbox.Or(all.Accepting(f).Names()) }
	return strings.NewReplacer(
		"${sandbox_names}", strings.Join(all.Names(), ","), "${sandbox_classes}", all.Help(),
		"${sandbox_choices}", strings.Join(all.ChoiceNames(), ","), "${sandbox_choice_help}", all.ChoiceHelp(),
		"${demo_choice_help}", withoutImages().ChoiceHelp(), "${doctor_choice_help}", trialClasses().ChoiceHelp(),
		"${doctor_image_classes}", sandbox.Or(trialClasses().Accepting(sandbox.FeatureImage).Names()),
		"${runtime_names}", strings.Join(all.Outside().Names(), ","), "${runtime_classes}", all.Outside().Help(),
		"${image_classes}", accepting(sandbox.FeatureImage), "${default_images}", all.Images(),
		"${network_classes}", accepting(sandbox.FeatureNetwork), "${grant_classes}", accepting(sandbox.FeatureGrants),
		"${mount_classes}", accepting(sandbox.FeatureMounts), "${host_classes}", accepting(sandbox.FeatureExtraHosts),
		"${readonly_classes}", accepting(sandbox.FeatureReadOnly), "${gpu_classes}", accepting(sandbox.FeatureGPUs),
	)
}

// runtimeAPIFlags are where sandboxes of --sandbox remote run.
type runtimeAPIFlags struct {
	RuntimeAPI       string `name:"runtime-api" help:"Address of the Runtime API for --sandbox remote, for example https://runtimes.example.org." placeholder:"URL" env:"DEFT_RUNTIME_API"`
	RuntimeAPIKeyEnv string `name:"runtime-api-key-env" help:"Name of the variable with the key for it (default: DEFT_RUNTIME_API_KEY)." placeholder:"NAME" env:"DEFT_RUNTIME_API_KEY_ENV"`
}

// runtimeAPIFromEnvironment is for commands without these flags.
func runtimeAPIFromEnvironment(env func(string) string) runtimeAPIFlags {
	return runtimeAPIFlags{RuntimeAPI: env("DEFT_RUNTIME_API"), RuntimeAPIKeyEnv: env("DEFT_RUNTIME_API_KEY_ENV")}
}

// checkRuntimeAPI refuses flags that do not go together.
func (f runtimeAPIFlags) checkRuntimeAPI(class string, env func(string) string) error {
	service := sandboxClasses().Get(class).Needs
	switch {
	case service != "" && f.RuntimeAPI == "":
		return fault.New(fault.Invalid, "--sandbox "+class+" needs the address of "+service).Hint("add --runtime-api URL, or set DEFT_RUNTIME_API")
	case f.RuntimeAPIKeyEnv != "" && env(f.RuntimeAPIKeyEnv) == "" && service != "":
		return fault.New(fault.Invalid, "--runtime-api-key-env names a variable that is empty").Hint("it takes the name of a variable, not the key")
	}
	return nil
}

// sandboxes are the registered classes, with sandboxes of this Runtime API.
func (f runtimeAPIFlags) sandboxes(env func(string) string) sandbox.Classes {
	all := sandboxClasses()
	if f.RuntimeAPI != "" {
		all = all.With(remote.Class(remote.API{URL: f.RuntimeAPI, Key: env(f.keyVariable()), KeyName: f.keyVariable()}))
	}
	return all
}

// keyVariable is the variable with the key.
func (f runtimeAPIFlags) keyVariable() string {
	return cmp.Or(f.RuntimeAPIKeyEnv, "DEFT_RUNTIME_API_KEY")
}

// classes are the standard ones, with sandboxes of this Runtime API. Programs that are
// started do not get its key.
func (f runtimeAPIFlags) classes(env func(string) string) (build.Classes, error) {
	c := build.StandardClasses()
	c.Sandboxes = f.sandboxes(env)
	if f.RuntimeAPI != "" {
		if err := os.Unsetenv(f.keyVariable()); err != nil {
			return c, fmt.Errorf("hide the Runtime API's key: %w", err)
		}
	}
	return c, nil
}

// networkFlag parses --net, whose value is optional: without one the network is
// open, and in which names of ecosystems stand for the hosts of their registries. The next argument is never taken for the value.
type networkFlag struct{}

// Decode implements [kong.Mapper].
func (networkFlag) Decode(ctx *kong.DecodeContext, target reflect.Value) error {
	text := string(sandbox.NetworkOpen)
	if ctx.Scan.Peek().Type == kong.FlagValueToken {
		text = fmt.Sprint(ctx.Scan.Pop().Value)
	} else if word := fmt.Sprint(ctx.Scan.Peek().Value); ctx.Scan.Len() > 0 && runcommand.MeantForNet(word) {
		return fault.New(fault.Invalid, "the value of --net stands behind an equals sign").
			Hint("write --net=" + word + "; --net alone opens all public hosts: a task that begins with that word is put in quotation marks, before --net or after --")
	}
	text, err := registryhosts.Expand(text, registryhosts.Source{Env: os.Getenv})
	if err != nil {
		return err
	}
	n, err := sandbox.ParseNetwork(text)
	if err != nil {
		return err
	}
	target.SetString(string(n))
	return nil
}

// IsBool implements [kong.BoolMapper].
func (networkFlag) IsBool() bool { return true }
