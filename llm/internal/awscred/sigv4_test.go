package awscred

import (
	"encoding/hex"
	"net/http"
	"strings"
	"testing"
	"time"
)

var example = Credentials{ID: "AKIDEXAMPLE", Secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}

// TestSigningKey checks the example of AWS's documentation ("Examples of how to
// derive a signing key").
func TestSigningKey(t *testing.T) {
	t.Parallel()
	const want = "c4afb1cc5771d871763a393e44b703571b55cc28424d1a5e86da6ed3c154a4b9"
	if got := hex.EncodeToString(signingKey(example.Secret, "20150830", "us-east-1", "iam")); got != want {
		t.Errorf("key %s, want %s", got, want)
	}
}

// TestSign checks cases of AWS's published test suite for Signature Version 4,
// and the example request of its documentation.
func TestSign(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		method, url, service, contentType, signature string
	}{
		"documentation": {
			"GET", "https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08", "iam", "application/x-www-form-urlencoded; charset=utf-8",
			"5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7",
		},
		"get-vanilla": {
			"GET", "https://example.amazonaws.com/", "service", "",
			"5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
		},
		"post-vanilla": {
			"POST", "https://example.amazonaws.com/", "service", "",
			"5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
		},
		"get-vanilla-query-order-key-case": {
			"GET", "https://example.amazonaws.com/?Param2=value2&Param1=value1", "service", "",
			"b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req, err := http.NewRequestWithContext(t.Context(), tt.method, tt.url, nil)
			if err != nil {
				t.Fatal(err)
			}
			if tt.contentType != "" {
				req.Header.Set("Content-Type", tt.contentType)
			}
			Sign(req, nil, example, "us-east-1", tt.service, time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC))
			if got := req.Header.Get("Authorization"); !strings.HasSuffix(got, "Signature="+tt.signature) ||
				!strings.HasPrefix(got, "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/"+tt.service+"/aws4_request, SignedHeaders=") {
				t.Errorf("authorization %s, want signature %s", got, tt.signature)
			}
		})
	}
}

// TestCanonicalPath checks the double encoding, also of a model's ARN.
func TestCanonicalPath(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]string{
		"anthropic.claude-v1:0":                           "/model/anthropic.claude-v1%253A0/converse",
		"arn:aws:bedrock:us-east-1:1:inference-profile/x": "/model/arn%253Aaws%253Abedrock%253Aus-east-1%253A1%253Ainference-profile%252Fx/converse",
	} {
		req, err := http.NewRequestWithContext(t.Context(), "POST", "https://h/model/"+Escape(model)+"/converse", nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := canonicalPath(req.URL); got != want {
			t.Errorf("path %s, want %s", got, want)
		}
	}
}
