// Command program is what the tests of package docker run in containers: a static
// binary, which a test binary with the race detector is not.
package main

import (
	"github.com/deft-dev/deft/sandbox/docker"
	"github.com/deft-dev/deft/sandbox/process"
	"github.com/deft-dev/deft/sandbox/sandboxtest"
)

func main() {
	process.MaybeInit() // the proxy
	docker.MaybeInit()
	sandboxtest.MaybeServe()
}
