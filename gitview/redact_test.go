package gitview

import "testing"

func TestRedact(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"https://oauth2:s3cret@host/o/r.git":            "https://****@host/o/r.git",
		"https://s3cret@host/o/r.git":                   "https://****@host/o/r.git",
		"HTTPS://u:p@s3cret@host/r":                     "HTTPS://****@host/r",
		"https://host/r.git?depth=1&private_token=s3&b": "https://host/r.git?depth=1&private_token=%3Credacted%3E&b",
		"https://host/r?a=1&X-Amz-Signature=s3&z=a@b":   "https://host/r?a=1&X-Amz-Signature=%3Credacted%3E&z=a@b",
		"https://host/r#access_token=s3":                "https://host/r#access_token=%3Credacted%3E",
		"https://host/o/r.git?ref=main&author=x":        "https://host/o/r.git?ref=main&author=x",
		"https://host/a@b":                              "https://host/a@b",
		"ssh://git@host/r":                              "ssh://git@host/r",
		"ssh://git:s3cret@host/r":                       "ssh://****@host/r",
		"git@host:o/r.git":                              "git@host:o/r.git",
		"user:s3cret@host:o/r.git":                      "****@host:o/r.git",
		"/srv/a?token=1":                                "/srv/a?token=1",
		"fatal: https://a:s3@h/r and https://b:s3@h/r":  "fatal: https://****@h/r and https://****@h/r",
	} {
		if got := redact(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
