package main

import (
	"fmt"
	"os"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/remote"
	"github.com/deft-dev/deft/session/build"
)

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
	switch {
	case class == remoteSandbox && f.RuntimeAPI == "":
		return fault.New(fault.Invalid, "--sandbox remote needs the address of a Runtime API").Hint("add --runtime-api URL, or set DEFT_RUNTIME_API")
	case f.RuntimeAPIKeyEnv != "" && env(f.RuntimeAPIKeyEnv) == "" && class == remoteSandbox:
		return fault.New(fault.Invalid, "--runtime-api-key-env names a variable that is empty").Hint("it takes the name of a variable, not the key")
	}
	return nil
}

// remoteSandbox is the class whose sandboxes these flags are for.
var remoteSandbox = remote.Class(remote.API{}).Name

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
	return first(f.RuntimeAPIKeyEnv, "DEFT_RUNTIME_API_KEY")
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
