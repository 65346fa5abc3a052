package awscred

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Forms of a time in a signature.
const (
	StampForm = "20060102T150405Z"
	dayForm   = "20060102"
)

// Sign signs a request with Signature Version 4, after
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html. The
// host, the content type and all headers that begin with x-amz- or x-goog- (of
// Google's token exchange) are covered; others may be changed by proxies.
func Sign(req *http.Request, body []byte, c Credentials, region, service string, now time.Time) {
	stamp := now.UTC().Format(StampForm)
	req.Header.Set("X-Amz-Date", stamp)
	if c.Session != "" {
		req.Header.Set("X-Amz-Security-Token", c.Session)
	}
	scope := stamp[:len(dayForm)] + "/" + region + "/" + service + "/aws4_request"
	headers, names := canonicalHeaders(req)
	canonical := strings.Join([]string{
		req.Method, canonicalPath(req.URL), canonicalQuery(req.URL), headers, names, hexSum(body),
	}, "\n")
	text := "AWS4-HMAC-SHA256\n" + stamp + "\n" + scope + "\n" + hexSum([]byte(canonical))
	signature := hex.EncodeToString(mac(signingKey(c.Secret, stamp[:len(dayForm)], region, service), text))
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+c.ID+"/"+scope+", SignedHeaders="+names+", Signature="+signature)
}

func signingKey(secret, day, region, service string) []byte {
	return mac(mac(mac(mac([]byte("AWS4"+secret), day), region), service), "aws4_request")
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text)) // writing to a hash cannot fail
	return h.Sum(nil)
}

func hexSum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// canonicalHeaders returns the covered headers, each with its line end, and
// their names.
func canonicalHeaders(req *http.Request) (lines, names string) {
	host := req.Host
	if host == "" {
		host = req.URL.Host
	}
	values := map[string]string{"host": host}
	list := []string{"host"}
	for name, vs := range req.Header {
		name = strings.ToLower(name)
		if name != "content-type" && !strings.HasPrefix(name, "x-amz-") && !strings.HasPrefix(name, "x-goog-") {
			continue
		}
		var trimmed []string
		for _, v := range vs {
			trimmed = append(trimmed, strings.Join(strings.Fields(v), " "))
		}
		values[name] = strings.Join(trimmed, ",")
		list = append(list, name)
	}
	slices.Sort(list)
	var b strings.Builder
	for _, n := range list {
		b.WriteString(n + ":" + values[n] + "\n")
	}
	return b.String(), strings.Join(list, ";")
}

// canonicalPath encodes the path as sent once more, as all services but S3
// want it.
func canonicalPath(u *url.URL) string {
	path := u.EscapedPath()
	if path == "" {
		return "/"
	}
	parts := strings.Split(path, "/")
	for i := range parts {
		parts[i] = Escape(parts[i])
	}
	return strings.Join(parts, "/")
}

func canonicalQuery(u *url.URL) string {
	var pairs []string
	for k, vs := range u.Query() {
		for _, v := range vs {
			pairs = append(pairs, Escape(k)+"="+Escape(v))
		}
	}
	slices.Sort(pairs)
	return strings.Join(pairs, "&")
}

// Escape encodes all bytes but the unreserved ones of RFC 3986.
func Escape(s string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '.', c == '~':
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
		}
	}
	return b.String()
}
