package github_test

import (
	"testing"

	"github.com/deft-dev/deft/forge"
	"github.com/deft-dev/deft/forge/exchange"
	"github.com/deft-dev/deft/forge/forgetest"
	"github.com/deft-dev/deft/forge/github"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	forgetest.Run(t, "testdata/exchanges.json", func(e exchange.Endpoint) forge.Host { return github.New(e) })
}
