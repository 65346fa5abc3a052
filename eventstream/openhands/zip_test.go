package openhands_test

import (
	"archive/zip"
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/deft-dev/deft/eventstream/openhands"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
)

// section returns a text, or a zip file of the files, by pairs of name and content.
func section(t *testing.T, text string, files ...string) *io.SectionReader {
	t.Helper()
	var b bytes.Buffer
	b.WriteString(text)
	if len(files) > 0 {
		z := zip.NewWriter(&b)
		for i := 0; i < len(files); i += 2 {
			w, err := z.Create(files[i])
			if err == nil {
				_, err = io.WriteString(w, files[i+1])
			}
			must.Succeed(t, err)
		}
		must.Succeed(t, z.Close())
	}
	return io.NewSectionReader(bytes.NewReader(b.Bytes()), 0, int64(b.Len()))
}

func TestUnzipped(t *testing.T) {
	t.Parallel()
	const first, second = "c/events/event-00000-aaaaaaaa.json", "c/events/event-00001-bbbbbbbb.json"
	for name, c := range map[string]struct {
		in   *io.SectionReader
		want string
		says string // of the error
	}{
		"JSON":            {section(t, `[{"a":1}]`), `[{"a":1}]`, ""},
		"nothing":         {section(t, ""), "", ""},
		"in their order":  {section(t, "", second, `{"b":2}`, "c/base_state.json", "{}", first, `{"a":1}`), `[{"a":1},{"b":2}]`, ""},
		"no events":       {section(t, "", "c/base_state.json", "{}"), "", "holds no events"},
		"elsewhere":       {section(t, "", "c/x/event-00000-aaaaaaaa.json", "{}"), "", "holds no events"},
		"two":             {section(t, "", first, "{}", "d/events/event-00000-aaaaaaaa.json", "{}"), "", "several conversations"},
		"no JSON":         {section(t, "", first, "{}", second, `{}]`), "", "event 2 cannot be read: it is not JSON"},
		"too large":       {section(t, "", first, strings.Repeat(" ", 60), second, strings.Repeat(" ", 60)), "", "more than"},
		"too many":        {section(t, strings.Repeat("PK\x01\x02"+strings.Repeat("\x00", 42), 300_000)+"PK\x05\x06"+strings.Repeat("\x00", 8)+"\x40\x92\xd2\x00"+strings.Repeat("\x00", 6)), "", "more than 200000 files"},
		"damaged":         {section(t, "PK\x03\x04 and no more"), "", "the zip file is damaged"},
		"a number beyond": {section(t, "", "c/events/event-999999999999-aaaaaaaa.json", "{}"), "[{}]", ""},
	} {
		r, err := openhands.Unzipped(c.in, 100)
		var got []byte
		if err == nil {
			got, err = io.ReadAll(r)
		}
		switch {
		case c.says == "" && (err != nil || string(got) != c.want):
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		case c.says != "" && (!fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%s: %v; want %q", name, err, c.says)
		}
	}
}

func TestTitle(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   *io.SectionReader
		want string
		says string // of the error
	}{
		"JSON":           {section(t, `[{"title":"x"}]`), "", ""},
		"no meta.json":   {section(t, "", "c/base_state.json", "{}"), "", ""},
		"none":           {section(t, "", "c/meta.json", "{}"), "", ""},
		"null":           {section(t, "", "c/meta.json", `{"title":null}`), "", ""},
		"in a directory": {section(t, "", "c/meta.json", `{"title":"Fix it"}`), "Fix it", ""},
		"at the top":     {section(t, "", "meta.json", `{"title":"Fix it"}`), "Fix it", ""},
		"of another":     {section(t, "", "c/events/x/meta.json", `{"title":"Fix it"}`), "", ""},
		"no text":        {section(t, "", "meta.json", `{"title":1}`), "", "meta.json in the zip file cannot be read"},
		"damaged":        {section(t, "PK\x03\x04 and no more"), "", "the zip file is damaged"},
	} {
		got, err := openhands.Title(c.in)
		switch {
		case c.says == "" && (err != nil || got != c.want):
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		case c.says != "" && (!fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%s: %v; want %q", name, err, c.says)
		}
	}
}
