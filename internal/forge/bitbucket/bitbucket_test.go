package bitbucket_test

import (
	"testing"

	"github.com/deft-dev/deft/internal/forge"
	"github.com/deft-dev/deft/internal/forge/bitbucket"
	"github.com/deft-dev/deft/internal/forge/forgetest"
	"github.com/deft-dev/deft/internal/forge/internal/exchange"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	forgetest.Run(t, "testdata/exchanges.json", func(e exchange.Endpoint) forge.Host { return bitbucket.New(e) })
}
