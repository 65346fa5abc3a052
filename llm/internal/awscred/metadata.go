package awscred

import (
	"cmp"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm/internal/tokencache"
)

// Addresses of the services of the machine itself.
const (
	ecsHost      = "http://169.254.170.2"
	instanceV4   = "http://169.254.169.254"
	instanceV6   = "http://[fd00:ec2::254]"
	instanceTime = time.Second // of a service that is there
	instanceKeep = "21600"     // seconds that a session token lives
)

// containerHosts may be called without TLS, besides the loopback interface.
var containerHosts = []string{"169.254.170.2", "169.254.170.23", "fd00:ec2::23"}

// container fetches credentials from the service of ECS tasks and EKS pods
// (https://docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html).
func (s *search) container(ctx context.Context) (Credentials, bool, error) {
	const service = "the container's credentials service"
	at, err := s.containerURL()
	if at == nil || err != nil {
		return Credentials{}, false, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return Credentials{}, false, fault.New(fault.Invalid, "AWS_CONTAINER_CREDENTIALS_FULL_URI is not a URL")
	}
	token := s.env("AWS_CONTAINER_AUTHORIZATION_TOKEN")
	if path := s.env("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"); path != "" {
		if token, err = readToken(path); err != nil {
			return Credentials{}, false, fault.Wrap(err, fault.Auth, "read AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")
		}
	}
	if strings.ContainsAny(token, "\r\n") {
		return Credentials{}, false, fault.New(fault.Invalid, "the token for "+service+" has more than one line")
	}
	if token != "" {
		req.Header.Set("Authorization", token)
	}
	req.Header.Set("Accept", "application/json")
	a, err := tokencache.Fetch(ctx, s.direct, req, service)
	if err != nil {
		return Credentials{}, false, err
	}
	cr, err := keysOf(a, service)
	return cr, err == nil, err
}

// containerURL is the URL of the container's credentials, or nil.
func (s *search) containerURL() (*url.URL, error) {
	text := s.env("AWS_CONTAINER_CREDENTIALS_FULL_URI")
	if path := s.env("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"); path != "" {
		text = ecsHost + "/" + strings.TrimPrefix(path, "/")
	}
	if text == "" {
		return nil, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return nil, fault.New(fault.Invalid, "AWS_CONTAINER_CREDENTIALS_FULL_URI is not a URL")
	}
	host := u.Hostname()
	ip := net.ParseIP(host)
	open := host == "localhost" || ip != nil && ip.IsLoopback()
	for _, h := range containerHosts {
		open = open || ip != nil && ip.Equal(net.ParseIP(h))
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !open) {
		return nil, fault.New(fault.Invalid, "AWS_CONTAINER_CREDENTIALS_FULL_URI names "+host+" without TLS, which is not allowed")
	}
	return u, nil
}

// keysOf reads keys from an answer of a service.
func keysOf(a tokencache.Answer, service string) (Credentials, error) {
	var g keysDocument
	err := json.Unmarshal(a.Body, &g)
	if a.Status != http.StatusOK || g.Code != "" && g.Code != "Success" {
		return Credentials{}, a.Refused(service, g.Code, g.Message)
	}
	cr, ok := g.credentials(cmp.Or(g.Token, g.SessionToken))
	if err != nil || !ok {
		return Credentials{}, tokencache.Malformed(service)
	}
	return cr, nil
}

// instance fetches credentials from the metadata service of EC2, version 2
// only: version 1 reveals them to anyone who can make a server send a plain GET
// (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/configuring-instance-metadata-service.html).
func (s *search) instance(ctx context.Context) (Credentials, bool, error) {
	const service = "the metadata service of EC2"
	if strings.EqualFold(s.env("AWS_EC2_METADATA_DISABLED"), "true") {
		s.note(service + " is switched off")
		return Credentials{}, false, nil
	}
	base := cmp.Or(s.env("AWS_EC2_METADATA_SERVICE_ENDPOINT"), instanceV4)
	if strings.EqualFold(s.env("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE"), "IPv6") && base == instanceV4 {
		base = instanceV6
	}
	base = strings.TrimRight(base, "/") + "/latest/"
	token := s.session(ctx, base)
	if ctx.Err() != nil {
		return Credentials{}, false, context.Cause(ctx)
	}
	if token == "" {
		s.note(service + " does not answer")
		return Credentials{}, false, nil
	}
	const header, roles = "X-Aws-Ec2-Metadata-Token", "meta-data/iam/security-credentials/"
	a, err := s.metadata(ctx, http.MethodGet, base+roles, header, token)
	if err != nil {
		return Credentials{}, false, err
	}
	role, _, _ := strings.Cut(strings.TrimSpace(string(a.Body)), "\n")
	if a.Status == http.StatusNotFound || a.Status == http.StatusOK && role == "" {
		s.note("the EC2 instance has no role")
		return Credentials{}, false, nil
	}
	if a.Status != http.StatusOK {
		return Credentials{}, false, a.Refused(service, "", "")
	}
	if a, err = s.metadata(ctx, http.MethodGet, base+roles+url.PathEscape(strings.TrimSpace(role)), header, token); err != nil {
		return Credentials{}, false, err
	}
	cr, err := keysOf(a, service)
	return cr, err == nil, err
}

// session returns a session token of the service; "" if it does not answer.
func (s *search) session(ctx context.Context, base string) string {
	a, err := s.metadata(ctx, http.MethodPut, base+"api/token", "X-Aws-Ec2-Metadata-Token-Ttl-Seconds", instanceKeep)
	if err != nil || a.Status != http.StatusOK {
		return ""
	}
	return strings.TrimSpace(string(a.Body))
}

// metadata makes one request to the service, which answers quickly or not at
// all.
func (s *search) metadata(ctx context.Context, method, at, header, value string) (tokencache.Answer, error) {
	limited, cancel := context.WithTimeout(ctx, instanceTime)
	defer cancel()
	req, err := http.NewRequestWithContext(limited, method, at, nil)
	if err != nil {
		return tokencache.Answer{}, fault.New(fault.Invalid, "AWS_EC2_METADATA_SERVICE_ENDPOINT is not a URL")
	}
	req.Header.Set(header, value)
	return tokencache.Fetch(ctx, s.direct, req, "the metadata service of EC2")
}
