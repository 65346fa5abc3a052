package files

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"pgregory.net/rapid"

	"github.com/deft-dev/deft/internal/must"
)

func TestEveryEncodingComesBack(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		charset encoding.Encoding
		text    string
	}{
		"GB18030":   {simplifiedchinese.GB18030, strings.Repeat("这是一个用来检测编码的测试文件，里面有很多汉字。\n", 20)},
		"Shift JIS": {japanese.ShiftJIS, strings.Repeat("これは文字コードを判定するためのテストです。\n", 20)},
		"EUC-JP":    {japanese.EUCJP, strings.Repeat("これは文字コードを判定するためのテストです。\n", 20)},
		"EUC-KR":    {korean.EUCKR, strings.Repeat("이것은 문자 인코딩을 판별하기 위한 시험입니다.\n", 20)},
	} {
		raw, err := tc.charset.NewEncoder().Bytes([]byte(tc.text))
		must.Succeed(t, err)
		d, ok := Decode(raw)
		if !ok || d.Text != tc.text {
			t.Errorf("%s: read as %s: %.40q", name, d.Name, d.Text)
			continue
		}
		back, err := d.Encode(d.Text)
		if err != nil || !bytes.Equal(back, raw) {
			t.Errorf("%s: does not come back: %v", name, err)
		}
	}
}

// TestSpliceChangesNothingElse checks for generated texts that the text outside
// the replaced part keeps its bytes, and that the result reads as the model
// expects.
func TestSpliceChangesNothingElse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.SampledFrom([]string{"a", "b", "é", "\n", "\r\n", "\t"})
		orig := strings.Join(rapid.SliceOfN(piece, 0, 30).Draw(t, "orig"), "")
		replacement := strings.Join(rapid.SliceOfN(piece, 0, 6).Draw(t, "replacement"), "")
		l := NewLines(orig)
		from := rapid.IntRange(0, len(l.Text)).Draw(t, "from")
		to := rapid.IntRange(from, len(l.Text)).Draw(t, "to")
		after := l.Splice(Edit{from, to, replacement})
		if want := l.Text[:from] + PlainNewlines(replacement) + l.Text[to:]; NewLines(after).Text != want {
			t.Fatalf("reads as %q, want %q", NewLines(after).Text, want)
		}
		if head := orig[:l.offset(from)]; !strings.HasPrefix(after, head) {
			t.Fatalf("%q does not start with %q", after, head)
		}
		if tail := orig[l.offset(to):]; !strings.HasSuffix(after, tail) {
			t.Fatalf("%q does not end in %q", after, tail)
		}
		if l.ending == "\r\n" && !strings.Contains(strings.ReplaceAll(orig, "\r\n", ""), "\n") &&
			strings.Contains(strings.ReplaceAll(after, "\r\n", ""), "\n") {
			t.Fatalf("a CRLF file got plain newlines: %q", after)
		}
	})
}

// FuzzDecodeDocument checks that no file makes the decoder panic, and that every
// text can be written back to the byte.
func FuzzDecodeDocument(f *testing.F) {
	for _, s := range []string{"", "abc\n", "\xef\xbb\xbfx", "\xff\xfea\x00", "\xff\xfea", "\xfe\xff\xd8\x00", "caf\xe9", "\x81\x8d", "é\xff", "\x1b$B", "a\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		d, ok := Decode(raw)
		if !ok {
			return
		}
		back, err := d.Encode(d.Text)
		if err != nil || !bytes.Equal(back, raw) {
			t.Errorf("%q as %s comes back as %q, %v", raw, d.Name, back, err)
		}
	})
}

func read(t *testing.T, path string) *File {
	t.Helper()
	x := &Files{}
	f, err := x.Read(path, 1000)
	must.Succeed(t, err)
	return f
}

func tempFile(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must.Succeed(t, err)
	path := filepath.Join(dir, "f")
	must.Succeed(t, os.WriteFile(path, []byte("old content"), 0o640))
	return path
}

func TestReplaceLosesNoChangeOfOthers(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(*File, []byte) error{"replace": replaceFile, "rewrite": rewrite} {
		path := tempFile(t)
		f := read(t, path)
		must.Succeed(t, os.WriteFile(path, []byte("somebody else's"), 0o640))
		if err := write(f, []byte("new")); err == nil || !strings.Contains(err.Error(), "another program") {
			t.Errorf("%s: %v", name, err)
		}
		if raw, err := os.ReadFile(path); err != nil || string(raw) != "somebody else's" {
			t.Errorf("%s: file = %q, %v", name, raw, err)
		}
	}
}

// TestCreateNamesTheFile: the error does not name the temporary file, which nobody knows.
func TestCreateNamesTheFile(t *testing.T) {
	t.Parallel()
	const path = "/proc/new" // nobody can make a file there
	if err := createFile(path, []byte("x")); err == nil || !strings.Contains(err.Error(), path+":") {
		t.Error(err)
	}
}

func TestRewriteKeepsTheFile(t *testing.T) {
	t.Parallel()
	path := tempFile(t)
	f := read(t, path)
	must.Succeed(t, rewrite(f, []byte("new")))
	g := read(t, path)
	if string(g.Raw) != "new" || g.stat.Ino != f.stat.Ino || g.stat.Mode != f.stat.Mode {
		t.Errorf("content %q, inode %d was %d", g.Raw, g.stat.Ino, f.stat.Ino)
	}
}

func TestUndoPassesOverAnEditThatWasNeverMade(t *testing.T) {
	t.Parallel()
	path := tempFile(t)
	u, err := openUndo(t.TempDir())
	must.Succeed(t, err)
	if _, err := u.push(path, []byte("before"), true, []byte("old content")); err != nil {
		t.Fatal(err)
	}
	if _, err := u.push(path, []byte("old content"), true, []byte("never written")); err != nil {
		t.Fatal(err)
	}
	x := &Files{undo: u}
	_, _, before, err := x.lastEdit(path, read(t, path))
	if err != nil || string(before) != "before" {
		t.Errorf("before = %q, %v", before, err)
	}
}

func TestUndoIsBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	u, err := openUndo(dir)
	must.Succeed(t, err)
	for i := range maxUndoTotal + 50 {
		if _, err := u.push("/f"+strings.Repeat("x", i%300), nil, true, nil); err != nil {
			t.Fatal(err)
		}
	}
	again, err := openUndo(dir)
	must.Succeed(t, err)
	if len(u.entries) > maxUndoTotal || len(again.entries) != len(u.entries) || again.bytes != u.bytes || again.next != u.next {
		t.Errorf("%d entries, %d found again", len(u.entries), len(again.entries))
	}
}
