package rest_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/rest"
)

func query(t *testing.T, name, value string) *rest.Query {
	t.Helper()
	return rest.QueryOf(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/?"+name+"="+url.QueryEscape(value), nil))
}

func TestUUID(t *testing.T) {
	t.Parallel()
	const plain = "00c99065547642c1b1a4c565ba69dbbe"
	for text, want := range map[string]string{ // an id, or pydantic's error
		plain: plain, "00C99065-5476-42C1-B1A4-C565BA69DBBE": plain,
		"{00c99065-5476-42c1-b1a4-c565ba69dbbe}":        plain,
		"urn:uuid:00c99065-5476-42c1-b1a4-c565ba69dbbe": plain,
		"{" + plain + "}":                     "invalid group count: expected 5, found 1",
		"urn:uuid:" + plain:                   "invalid group count: expected 5, found 1",
		"URN:UUID:" + plain:                   "invalid character: found `U` at 1",
		"urn:uuid:{" + plain + "}":            "invalid character: found `{` at 10",
		"{urn:uuid:" + plain + "}":            "invalid character: found `u` at 2",
		"{" + plain:                           "invalid character: found `{` at 1",
		"{":                                   "invalid character: found `{` at 1",
		"zz":                                  "invalid character: found `z` at 1",
		"0z":                                  "invalid character: found `z` at 2",
		plain[1:]:                             "invalid length: expected length 32 for simple format, found 31",
		"":                                    "invalid length: expected length 32 for simple format, found 0",
		"00c9-90":                             "invalid group count: expected 5, found 2",
		"../" + plain:                         "invalid character: found `.` at 1",
		"00c99065-5476-42c1-b1a4-c565ba69dbb": "invalid group length in group 4: expected 12, found 11",
	} {
		q := query(t, "id", text)
		got := q.UUID("id")
		if err := q.Err(); err != nil {
			got = strings.TrimPrefix(err.Error(), "Input should be a valid UUID, ")
		}
		if got != want {
			t.Errorf("%q: %s", text, got)
		}
	}
}

func TestTime(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{ // in UTC, or "" for none
		"2020-01-01 10:00": "2020-01-01T10:00:00Z", "2020-01-01T10:00": "2020-01-01T10:00:00Z", "2020-01-01T10:00Z": "2020-01-01T10:00:00Z",
		"2020-01-01T10:00:00+0100": "2020-01-01T09:00:00Z", "2020-01-01": "2020-01-01T00:00:00Z",
		"1.5": "1970-01-01T00:00:01Z", "99999999999": "1973-03-03T09:46:39Z", "253402300799000": "9999-12-31T23:59:59Z",
		"1e9": "", "": "", "999999999999999": "", "10000-01-01T00:00:00": "", "0x10": "", "inf": "",
	} {
		q := query(t, "at", text)
		got, ok := q.Time("at", time.UTC)
		if ok != (want != "") || (q.Err() == nil) != ok || ok && got.UTC().Format(time.RFC3339) != want {
			t.Errorf("%q: %v, %v, want %q", text, got, q.Err(), want)
		}
	}
}

func TestLimit(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"1": "", "100": "", " 7 ": "", "0": "greater_than", "-3": "greater_than", "101": "less_than_equal", "x": "int_parsing", "": "int_parsing",
		"2.0": "", "+2": "", "0_1_0": "", "2.5": "int_parsing", "1e1": "int_parsing", "1.": "int_parsing", "1__0": "int_parsing", "_1": "int_parsing",
		"-0": "greater_than", "99999999999999999999999": "less_than_equal", "-99999999999999999999999": "greater_than",
	} {
		q := query(t, "limit", text)
		q.Limit("limit", 100, 100)
		got := ""
		if v, ok := errors.AsType[schema.Violations](q.Err()); ok {
			got = v[0].Type
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestRepeated wants the last of several values, as the reference takes it.
func TestRepeated(t *testing.T) {
	t.Parallel()
	q := rest.QueryOf(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/?n=x&n=2&s=a&s=b&b=maybe&b=1&e=x&e=all", nil))
	if n, s, b, e := q.Int("n", 0, 1, 9), q.String("s", ""), q.Bool("b", false), q.Enum("e", "", "all"); n != 2 || s != "b" || !b || e != "all" {
		t.Errorf("got %d, %q, %v, %q", n, s, b, e)
	}
	if got := q.Required("s"); got != "b" || q.Err() != nil {
		t.Errorf("got %q, %v", got, q.Err())
	}
}

func FuzzUUID(f *testing.F) {
	f.Add("00c99065-5476-42c1-b1a4-c565ba69dbbe")
	f.Add("{}")
	f.Add("----")
	f.Fuzz(func(t *testing.T, text string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.SetPathValue("id", text)
		id, err := rest.PathUUID(r, "id")
		if err == nil && (len(id) != 32 || strings.Trim(id, "0123456789abcdef") != "") {
			t.Errorf("%q became %q", text, id)
		}
	})
}
