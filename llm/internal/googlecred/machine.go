package googlecred

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/deft-dev/deft/fault"
)

// The address of the metadata server: resolving a missing name may be slow.
const (
	metadataHost = "169.254.169.254"
	metadataTime = 3 * time.Second
)

// machine is the metadata server of a machine of Google Cloud
// (https://cloud.google.com/compute/docs/metadata/overview). The one of x/oauth2 tries
// again for seconds where there is none.
type machine struct {
	host string
	off  bool
}

// token fetches a token of the service account of the machine.
func (m machine) token(ctx context.Context) (*oauth2.Token, error) {
	const service = "the metadata server of Google Cloud"
	missing := fault.New(fault.Auth, "there are no Google Cloud credentials: no file, and "+service+" does not answer").Hint(hint)
	if m.off {
		return nil, missing
	}
	limited, cancel := context.WithTimeout(ctx, metadataTime)
	defer cancel()
	at := "http://" + m.host + "/computeMetadata/v1/instance/service-accounts/default/token?scopes=" + url.QueryEscape(Scope)
	req, err := http.NewRequestWithContext(limited, http.MethodGet, at, nil)
	if err != nil {
		return nil, fault.New(fault.Invalid, "GCE_METADATA_HOST is not a host")
	}
	req.Header.Set("Metadata-Flavor", "Google")
	res, err := client(connection).Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, missing.Because(err)
	}
	defer res.Body.Close()
	var said struct {
		AccessToken string  `json:"access_token"`
		ExpiresIn   float64 `json:"expires_in"` // seconds
	}
	err = json.NewDecoder(http.MaxBytesReader(nil, res.Body, 1<<20)).Decode(&said)
	switch {
	case res.Header.Get("Metadata-Flavor") != "Google": // another cloud's machine
		return nil, missing
	case res.StatusCode == http.StatusNotFound:
		return nil, fault.New(fault.Auth, "the machine has no Google Cloud service account").Hint(hint)
	case res.StatusCode >= 500 || res.StatusCode == http.StatusTooManyRequests:
		return nil, fault.New(fault.Unavailable, service+" gave no credentials ("+res.Status+")")
	case res.StatusCode != http.StatusOK:
		return nil, fault.New(fault.Auth, service+" gave no credentials ("+res.Status+")").Hint(hint)
	case err != nil || said.AccessToken == "" || strings.ContainsAny(said.AccessToken, "\r\n"):
		return nil, fault.New(fault.Unavailable, service+" gave an answer without credentials")
	}
	life := time.Duration(min(max(said.ExpiresIn, 0), 86_400)) * time.Second
	return &oauth2.Token{AccessToken: said.AccessToken, Expiry: time.Now().Add(life)}, nil
}
