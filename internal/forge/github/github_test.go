package github_test

import (
	"testing"

	"github.com/deft-dev/deft/internal/forge"
	"github.com/deft-dev/deft/internal/forge/forgetest"
	"github.com/deft-dev/deft/internal/forge/github"
	"github.com/deft-dev/deft/internal/forge/internal/exchange"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	forgetest.Run(t, "testdata/exchanges.json", func(e exchange.Endpoint) forge.Host { return github.New(e) })
}
