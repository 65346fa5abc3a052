package keyring_test

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/schema"
)

var _ schema.Keys = (*keyring.Ring)(nil)

// TestVectors holds the format to generate.json and verify.json of
// github.com/fernet/spec.
func TestVectors(t *testing.T) {
	t.Parallel()
	const (
		secret = "cw_0x689RpI-jtRR7oE8h_eQsKImvJapLeSbXpwF4e4="
		token  = "gAAAAAAdwJ6wAAECAwQFBgcICQoLDA0ODy021cpGVWKZ_eEwCGM4BLLF_5CV9dOPmrhuVUPgJobwOz7JcbmrR64jVmpU4IwqDA=="
	)
	at := time.Unix(499162800, 0)
	iv := []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	got, err := keyring.SealAt(secret, []byte("hello"), at, iv)
	if diff := cmp.Diff(token, got); diff != "" || err != nil {
		t.Errorf("seal: %v (-want +got):\n%s", err, diff)
	}
	if value, ok := keyring.OpenWith(secret, token); !ok || value != "hello" {
		t.Errorf("open = %q, %v", value, ok)
	}
	// invalid.json of the specification; cases about the time are left out, because
	// stored values do not expire.
	for name, bad := range map[string]string{
		"incorrect mac":             "gAAAAAAdwJ6xAAECAwQFBgcICQoLDA0OD3HkMATM5lFqGaerZ-fWPAl1-szkFVzXTuGb4hR8AKtwcaX1YdykQUFBQUFBQUFBQQ==",
		"too short":                 "gAAAAAAdwJ6xAAECAwQFBgcICQoLDA0OD3HkMATM5lFqGaerZ-fWPA==",
		"invalid base64":            "%%%%%%%%%%%%%AECAwQFBgcICQoLDA0OD3HkMATM5lFqGaerZ-fWPAl1-szkFVzXTuGb4hR8AKtwcaX1YdykRtfsH-p1YsUD2Q==",
		"payload size not multiple": "gAAAAAAdwJ6xAAECAwQFBgcICQoLDA0OD3HkMATM5lFqGaerZ-fWPOm73QeoCk9uGib28Xe5vz6oxq5nmxbx_v7mrfyudzUm",
		"payload padding error":     "gAAAAAAdwJ6xAAECAwQFBgcICQoLDA0ODz4LEpdELGQAad7aNEHbf-JkLPIpuiYRLQ3RtXatOYREu2FWke6CnJNYIbkuKNqOhw==",
		"incorrect IV":              "gAAAAAAdwJ6xBQECAwQFBgcICQoLDA0OD3HkMATM5lFqGaerZ-fWPAkLhFLHpGtDBRLRTZeUfWgHSv49TF2AUEZ1TIvcZjK1zQ==",
	} {
		if value, ok := keyring.OpenWith(secret, bad); ok {
			t.Errorf("%s opens as %q", name, value)
		}
	}
}

func TestRotation(t *testing.T) {
	t.Parallel()
	old, now := keyring.New("old"), keyring.New("new", "", "older", "old", "new", "old")
	sealed, err := old.Seal([]byte("v"))
	if err != nil || !now.Looks(sealed) || keyring.Looks("gAAAA") {
		t.Fatalf("sealed = %q, %v", sealed, err)
	}
	if got, err := now.Open(sealed); err != nil || string(got) != "v" {
		t.Fatalf("open = %q, %v", got, err)
	}
	if !now.Stale(sealed) || old.Stale(sealed) || keyring.New("other").Stale(sealed) {
		t.Error("stale only under a previous key")
	}
	renewed, err := now.Renew(sealed)
	if err != nil || now.Stale(renewed) {
		t.Errorf("renew: %v", err)
	}
	if again, err := now.Renew(renewed); err != nil || again != renewed {
		t.Errorf("renewing what is current changes it: %v", err)
	}
	if _, err := keyring.New("new").Open(renewed); err != nil {
		t.Errorf("renewed under another key: %v", err)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	sealed, err := keyring.New("a").Seal([]byte("the value"))
	must.Succeed(t, err)
	var none *keyring.Ring
	for name, r := range map[string]*keyring.Ring{"other": keyring.New("b", "c"), "nil": none, "blank": keyring.New(" ")} {
		for _, token := range []string{sealed, "", "gAAAAA", sealed[:len(sealed)-4], sealed + "\n", " " + sealed} {
			_, err := r.Open(token)
			if fault.KindOf(err) != fault.Denied || !strings.Contains(fault.HintOf(err), "OH_PREVIOUS_SECRET_KEYS") {
				t.Errorf("%s: open: %v", name, err)
			}
			if _, err := r.Renew(token); err == nil {
				t.Errorf("%s: renewed", name)
			}
		}
	}
	for _, r := range []*keyring.Ring{none, keyring.New("", "a")} {
		if _, err := r.Seal(nil); fault.KindOf(err) != fault.Unsupported || r.CanSeal() {
			t.Errorf("sealed without a key: %v", err)
		}
	}
	if got, err := keyring.New("", "a").Renew(sealed); err != nil || got != sealed {
		t.Errorf("renew without a current key: %v", err)
	}
}

// python finds an interpreter with the cryptography package.
func python(t *testing.T) string {
	t.Helper()
	where := os.Getenv("DEFT_OPENHANDS_PYTHON")
	if err := exec.Command(where, "-c", "import cryptography.fernet").Run(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s with cryptography: %v", where, err)
		}
		t.Skipf("no %s with cryptography: %v", where, err)
	}
	return where
}

// TestReference lets the implementation that the reference uses open ours and
// seal for us.
func TestReference(t *testing.T) {
	t.Parallel()
	py := python(t)
	const script = `
import sys, hashlib
from base64 import b64encode
from cryptography.fernet import Fernet
f = Fernet(b64encode(hashlib.sha256(sys.argv[1].encode()).digest()))
for line in sys.stdin:
    value = f.decrypt(line.strip().encode())
    print(value.hex(), f.encrypt(value).decode())
`
	ring := keyring.New("geheim ü")
	values := [][]byte{{}, []byte("x"), []byte(strings.Repeat("y", 15)), []byte(strings.Repeat("z", 16)), {0, 255}, bytes.Repeat([]byte("long "), 9999)}
	var in strings.Builder
	for _, v := range values {
		sealed, err := ring.Seal(v)
		must.Succeed(t, err)
		in.WriteString(sealed + "\n")
	}
	cmd := exec.CommandContext(t.Context(), py, "-c", script, "geheim ü")
	cmd.Stdin = strings.NewReader(in.String())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != len(values) {
		t.Fatalf("%d answers to %d values", len(lines), len(values))
	}
	for i, line := range lines {
		_, sealed, _ := strings.Cut(line, " ")
		got, err := ring.Open(sealed)
		if err != nil || !bytes.Equal(got, values[i]) {
			t.Errorf("value %d comes back as %q, %v", i, got, err)
		}
	}
}

func FuzzOpen(f *testing.F) {
	ring := keyring.New("k", "p")
	sealed, _ := ring.Seal([]byte("value"))
	for _, s := range []string{sealed, sealed[1:], "gAAAAA", "", strings.Repeat("A", 100), "gA=="} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, token string) {
		value, err := ring.Open(token)
		if err == nil && string(value) != "value" { // only sealed values open
			t.Errorf("%q opens as %q", token, value)
		}
	})
}
