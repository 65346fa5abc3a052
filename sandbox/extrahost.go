package sandbox

import (
	"encoding/json"
	"net/netip"
	"strings"

	"github.com/deft-dev/deft/fault"
)

// ExtraHost is a name and its address inside a container, which also Network's proxy
// takes for the name. Its text is NAME:ADDRESS. It grants nothing: Network does.
type ExtraHost struct {
	Name    string     `json:"name"`
	Address netip.Addr `json:"address"`
}

// UnmarshalText reads NAME:ADDRESS, or NAME=ADDRESS. The error is of kind fault.Invalid.
func (h *ExtraHost) UnmarshalText(text []byte) error {
	name, address, _ := strings.Cut(strings.Replace(string(text), "=", ":", 1), ":")
	refuse := func(hint string) error {
		return fault.New(fault.Invalid, "not a name with its address: "+string(text)).Hint(hint)
	}
	if address == "host-gateway" {
		return refuse("sandboxes never reach this machine; name the address of another one")
	}
	addr, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(address, "["), "]"))
	if name = strings.ToLower(name); err != nil || addr.Zone() != "" || !ValidHostname(name) {
		return refuse("write NAME:ADDRESS, for example db.corp:10.1.2.3")
	}
	*h = ExtraHost{name, addr}
	return nil
}

// UnmarshalJSON reads an object, as it is stored with a conversation.
func (h *ExtraHost) UnmarshalJSON(raw []byte) error {
	type fields ExtraHost
	return json.Unmarshal(raw, (*fields)(h))
}

// String is the text of the host.
func (h ExtraHost) String() string { return h.Name + ":" + h.Address.String() }
