package egressproxy

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/deft-dev/deft/sandbox/internal/egress"
)

// maxRefused bounds a proxy's answer, in bytes.
const maxRefused = 64 << 10

// Refused asks, inside a sandbox, the proxy that the environment names which hosts it
// has refused of late: a text for each, the latest last; nil without a proxy.
func Refused(ctx context.Context, env []string, within time.Duration) ([]string, error) {
	var proxy *url.URL
	for _, kv := range env {
		if value, ok := strings.CutPrefix(kv, "HTTPS_PROXY="); ok {
			var err error
			if proxy, err = url.Parse(value); err != nil {
				return nil, errors.New("HTTPS_PROXY is not a URL")
			}
		}
	}
	if proxy == nil {
		return nil, nil
	}
	u := url.URL{Scheme: "http", Host: proxy.Host, Path: egress.RefusedPath, RawQuery: "within=" + within.String()}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	if password, ok := proxy.User.Password(); ok {
		req.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(proxy.User.Username()+":"+password)))
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // without a proxy
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the sandbox's proxy: %w", err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxRefused))
	if err != nil {
		return nil, fmt.Errorf("ask the sandbox's proxy: %w", err)
	}
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Server") != egress.ServerName {
		return nil, errors.New("the proxy is not a sandbox's")
	}
	return strings.FieldsFunc(string(raw), func(r rune) bool { return r == '\n' }), nil
}
