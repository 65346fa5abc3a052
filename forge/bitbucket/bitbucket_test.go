package bitbucket_test

import (
	"testing"

	"github.com/deft-dev/deft/forge"
	"github.com/deft-dev/deft/forge/bitbucket"
	"github.com/deft-dev/deft/forge/exchange"
	"github.com/deft-dev/deft/forge/forgetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	forgetest.Run(t, "testdata/exchanges.json", func(e exchange.Endpoint) forge.Host { return bitbucket.New(e) })
}
