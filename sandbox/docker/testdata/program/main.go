// Command program is what the tests of package docker run in containers: a static
// binary, which a test binary with the race detector is not.
package main

import (
	"github.com/deft-dev/deft/sandbox/docker"
	"github.com/deft-dev/deft/sandbox/sandboxtest"
)

func main() {
	docker.MaybeInit()
	sandboxtest.MaybeServe()
}
