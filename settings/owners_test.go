package settings_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/settings"
)

// TestOwnersAreBounded opens the settings of many owners at once: the service of an owner
// who is always there is kept, services without use for long are opened again.
func TestOwnersAreBounded(t *testing.T) {
	t.Parallel()
	opened := map[string]int{}
	o := settings.NewOwners(settings.OwnersOptions{Dir: "/o", Local: "/l", Open: func(_ context.Context, dir string) (*settings.Service, error) { // called one at a time
		opened[dir]++
		return &settings.Service{}, nil
	}})
	of := func(name string) {
		if s, err := o.Of(t.Context(), identity.Tenant(name)); err != nil || s == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	of("first")
	var wg sync.WaitGroup
	for i := range settings.KeptOwners {
		wg.Go(func() { of(fmt.Sprint("owner-", i)) })
	}
	wg.Wait()
	if len(opened) != settings.KeptOwners+1 {
		t.Fatalf("%d directories were opened, want one for each of %d owners", len(opened), settings.KeptOwners+1)
	}
	of("first")
	again := 0
	for _, n := range opened {
		again += n - 1
	}
	if again != 1 {
		t.Errorf("%d services were opened again, want 1, which was used before all others", again)
	}
	for i := range 2 * settings.KeptOwners {
		of(string(identity.LocalTenant))
		of(fmt.Sprint("later-", i))
	}
	if n := opened["/l"]; n != 1 {
		t.Errorf("settings that are always in use were opened %d times", n)
	}
	if _, err := o.Of(t.Context(), ""); !fault.Is(err, fault.Auth) {
		t.Errorf("settings of nobody: %v, want Auth", err)
	}
}
