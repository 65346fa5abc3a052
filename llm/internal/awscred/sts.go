package awscred

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm/internal/tokencache"
)

// identity is a token file of an OpenID provider and the role to assume with
// it.
type identity struct{ file, role, session string }

// environmentIdentity is the identity that EKS sets for the service account of
// a pod.
func (s *search) environmentIdentity(ctx context.Context) (Credentials, bool, error) {
	id := identity{file: s.env("AWS_WEB_IDENTITY_TOKEN_FILE"), role: s.env("AWS_ROLE_ARN"), session: s.env("AWS_ROLE_SESSION_NAME")}
	if id.file == "" {
		return Credentials{}, false, nil
	}
	cr, err := s.identity(ctx, s.shared.profiles[profileName(s.env)], id)
	return cr, err == nil, err
}

// identity fetches the credentials of a role with a token. The file is read
// each time, because the token changes.
func (s *search) identity(ctx context.Context, p settings, id identity) (Credentials, error) {
	if id.role == "" {
		return Credentials{}, fault.New(fault.Invalid, "a web identity token file is named, but no role").Hint("set AWS_ROLE_ARN, or role_arn in the profile")
	}
	token, err := readToken(id.file)
	if err != nil {
		return Credentials{}, fault.Wrap(err, fault.Auth, "read the web identity token")
	}
	return s.sts(ctx, p, url.Values{
		"Action": {"AssumeRoleWithWebIdentity"}, "RoleArn": {id.role}, "WebIdentityToken": {token},
		"RoleSessionName": {cmp.Or(id.session, s.sessionName())},
	}, nil)
}

func readToken(path string) (string, error) {
	b, err := tokencache.ReadFile(path)
	return strings.TrimSpace(string(b)), err
}

// assume fetches the credentials of a profile's role, as source.
func (s *search) assume(ctx context.Context, p settings, source Credentials) (Credentials, error) {
	form := url.Values{
		"Action": {"AssumeRole"}, "RoleArn": {p["role_arn"]},
		"RoleSessionName": {cmp.Or(p["role_session_name"], s.sessionName())},
	}
	if v := p["external_id"]; v != "" {
		form.Set("ExternalId", v)
	}
	if v := p["duration_seconds"]; v != "" {
		if _, err := strconv.ParseUint(v, 10, 31); err != nil {
			return Credentials{}, fault.New(fault.Invalid, fmt.Sprintf("duration_seconds of the AWS role %s is not a number", p["role_arn"]))
		}
		form.Set("DurationSeconds", v)
	}
	return s.sts(ctx, p, form, &source)
}

func (s *search) sessionName() string { return "deft-" + strconv.FormatInt(s.now().Unix(), 10) }

// sts calls the Security Token Service, signed with as unless it is nil
// (https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html).
func (s *search) sts(ctx context.Context, p settings, form url.Values, as *Credentials) (Credentials, error) {
	region := s.region(p)
	form.Set("Version", "2011-06-15")
	body := form.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.endpoint("STS", "sts."+region+"."+Domain(region), p)+"/", strings.NewReader(body))
	if err != nil {
		return Credentials{}, fault.New(fault.Invalid, "the address of AWS STS is not a URL").Hint("check AWS_ENDPOINT_URL_STS")
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	if as != nil {
		Sign(req, []byte(body), *as, region, "sts", s.now())
	}
	a, err := tokencache.Fetch(ctx, s.web, req, "AWS STS")
	if err != nil {
		return Credentials{}, err
	}
	if a.Status != http.StatusOK {
		return Credentials{}, a.Refused("AWS STS", element(a.Body, "Code"), element(a.Body, "Message")).
			Hint("check that the role " + form.Get("RoleArn") + " exists and trusts the caller")
	}
	until, err := time.Parse(time.RFC3339, element(a.Body, "Expiration"))
	cr := Credentials{
		ID: element(a.Body, "AccessKeyId"), Secret: element(a.Body, "SecretAccessKey"),
		Session: element(a.Body, "SessionToken"), Expires: until,
	}
	if err != nil || !cr.complete() {
		return Credentials{}, tokencache.Malformed("AWS STS")
	}
	return cr, nil
}

// region is the region of STS.
func (s *search) region(p settings) string {
	for _, r := range []string{s.env("AWS_REGION"), s.env("AWS_DEFAULT_REGION"), p["region"]} {
		if r = CleanRegion(r); r != "" {
			return r
		}
	}
	return "us-east-1"
}

// endpoint is the base URL of a service, without a slash at its end: from the
// settings, else of its host
// (https://docs.aws.amazon.com/sdkref/latest/guide/feature-ss-endpoints.html).
func (s *search) endpoint(service, host string, p settings) string {
	base := "https://" + host
	if !strings.EqualFold(s.env("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"), "true") {
		base = cmp.Or(s.env("AWS_ENDPOINT_URL_"+service), s.env("AWS_ENDPOINT_URL"), p["endpoint_url"], base)
	}
	return strings.TrimRight(base, "/")
}

// unescape removes XML escapes.
var unescape = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&apos;", "'", "&#xD;", "\r", "&#xA;", "\n", "&amp;", "&")

// element returns the text of the first element of a name. The elements of STS
// have no attributes; a parser would be larger than this package.
func element(xml []byte, name string) string {
	_, rest, ok := strings.Cut(string(xml), "<"+name+">")
	if !ok {
		return ""
	}
	text, _, ok := strings.Cut(rest, "</"+name+">")
	if !ok || strings.Contains(text, "<") {
		return ""
	}
	return unescape.Replace(strings.TrimSpace(text))
}
