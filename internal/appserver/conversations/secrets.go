package conversations

import (
	"encoding/json"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/secret"
)

// sealed returns the secrets of a request as they are stored with its task: encrypted.
// Invalid for what is not a secret, Unsupported without a key to seal with.
func (s *Service) sealed(secrets map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	if len(secrets) == 0 {
		return nil, nil
	}
	raw, err := json.Marshal(secrets)
	if err != nil {
		return nil, err
	}
	all, err := secret.ParseMap(raw, secret.ParseOptions{})
	if err != nil {
		return nil, err
	}
	if raw, err = secret.AppendMap(nil, all, secret.Sealed, s.o.Keys); err != nil {
		return nil, fault.Wrap(err, fault.Unsupported, "seal the secrets of the request")
	}
	var out map[string]json.RawMessage
	return out, json.Unmarshal(raw, &out)
}
