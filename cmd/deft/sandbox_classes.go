package main

import (
	"strings"
	"sync"

	"github.com/alecthomas/kong"

	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/process"
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

// sandboxVars are the words of flags that the registered classes decide.
func sandboxVars() kong.Vars {
	all := sandboxClasses()
	accepting := func(f sandbox.Feature) string { return sandbox.Or(all.Accepting(f).Names()) }
	return kong.Vars{
		"sandbox_names": strings.Join(all.Names(), ","), "sandbox_classes": all.Help(),
		"sandbox_choices": strings.Join(all.ChoiceNames(), ","), "sandbox_choice_help": all.ChoiceHelp(),
		"demo_choice_help": withoutImages().ChoiceHelp(), "doctor_choice_help": trialClasses().ChoiceHelp(),
		"doctor_image_classes": sandbox.Or(trialClasses().Accepting(sandbox.FeatureImage).Names()),
		"runtime_names":        strings.Join(all.Outside().Names(), ","), "runtime_classes": all.Outside().Help(),
		"image_classes": accepting(sandbox.FeatureImage), "default_images": all.Images(),
		"network_classes": accepting(sandbox.FeatureNetwork), "grant_classes": accepting(sandbox.FeatureGrants),
		"mount_classes": accepting(sandbox.FeatureMounts), "host_classes": accepting(sandbox.FeatureExtraHosts),
		"readonly_classes": accepting(sandbox.FeatureReadOnly), "gpu_classes": accepting(sandbox.FeatureGPUs),
	}
}
