package sandbox_test

import (
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
)

func TestExtraHost(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"db.corp:10.1.2.3":                  "db.corp:10.1.2.3",
		"DB=10.1.2.3":                       "db:10.1.2.3",
		"six:fd00::7":                       "six:fd00::7",
		"six:[fd00::7]":                     "six:fd00::7",
		"":                                  "",
		"db":                                "",
		"db:":                               "",
		":10.1.2.3":                         "",
		"db:other":                          "",
		"db:fe80::1%eth0":                   "",
		"127.1:10.1.2.3":                    "", // no name: programs take it for an address
		"a b:10.1.2.3":                      "",
		"db:10.1.2.3\nx:1.1.1.1":            "",
		"host.docker.internal:host-gateway": "",
	} {
		var h sandbox.ExtraHost
		switch err := h.UnmarshalText([]byte(text)); {
		case want == "" && (!fault.Is(err, fault.Invalid) || fault.HintOf(err) == ""):
			t.Errorf("%q: %v, %v", text, h, err)
		case want != "" && (err != nil || h.String() != want):
			t.Errorf("%q: %v, %v, want %s", text, h, err, want)
		}
	}
}
