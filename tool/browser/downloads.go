package browser

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/chromedp/cdproto/browser"

	"github.com/deft-dev/deft/tool/internal/devtools"
)

// The limits of downloads.
const (
	MaxDownload  = 100 << 20
	maxDownloads = 10 // at a time
)

// downloadDir is the directory of the workspace that has the downloaded files.
const downloadDir = "downloads"

// downloads are the files that pages send.
type downloads struct {
	all   map[string]*download // by the browser's name
	begun int                  // since the start
}

type download struct {
	name     string // as the page wants it
	complete bool
}

// event takes an event about downloads. The caller holds the mutex of the pages.
func (d *downloads) event(b *chromium, e devtools.Event) {
	switch e.Method {
	case browser.DownloadWillBegin.Method:
		v, err := devtools.Decode(e, browser.DownloadWillBegin)
		if err != nil {
			return
		}
		if d.begun++; len(d.all) >= maxDownloads {
			d.cancel(b, v.GUID)
			b.note("A download was refused: there are %d already.", maxDownloads)
			return
		}
		if d.all == nil {
			d.all = map[string]*download{}
		}
		d.all[v.GUID] = &download{name: fileName(v.SuggestedFilename)}
	case browser.DownloadProgress.Method:
		v, err := devtools.Decode(e, browser.DownloadProgress)
		one := d.all[v.GUID]
		if err != nil || one == nil {
			return
		}
		switch {
		case v.State == browser.DownloadProgressStateCompleted && v.ReceivedBytes <= MaxDownload:
			one.complete = true
		case v.State == browser.DownloadProgressStateCanceled:
			delete(d.all, v.GUID)
			b.note("The download of %s has failed.", quoted(one.name))
		case v.TotalBytes > MaxDownload || v.ReceivedBytes > MaxDownload:
			delete(d.all, v.GUID)
			d.cancel(b, v.GUID)
			b.note("The download of %s was given up: it has more than %d MB.", quoted(one.name), MaxDownload>>20)
		}
	}
}

func (d *downloads) cancel(b *chromium, id string) {
	if err := devtools.Send(b.conn, "", browser.CancelDownload, browser.CancelDownloadParams{GUID: id}); err != nil {
		b.note("%v", err)
	}
}

// fileName makes a plain file name of the one that a page suggests.
func fileName(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, strings.ToValidUTF8(path.Base(strings.ReplaceAll(s, `\`, "/")), ""))
	s = strings.TrimLeft(s, "._ -")
	if ext := path.Ext(s); len(s) > 100 {
		s = strings.ToValidUTF8(s[:80], "") + ext[:min(len(ext), 20)]
	}
	if s == "" || s == "/" {
		return "download"
	}
	return s
}

// save waits for downloads and puts the complete ones into the workspace.
func (b *chromium) save(ctx context.Context) {
	waiting, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	late := b.wait(waiting, func() bool {
		for _, one := range b.files.all {
			if !one.complete {
				return false
			}
		}
		return true
	}) != nil
	b.saved(late)
}

// saved puts the complete downloads into the workspace; late says that the others are told of.
func (b *chromium) saved(late bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, one := range b.files.all {
		switch {
		case one.complete:
			delete(b.files.all, id)
			b.mu.Unlock()
			place, err := b.keep(id, one.name)
			b.mu.Lock()
			if err != nil {
				b.note("The download of %s cannot be kept: %v", quoted(one.name), err)
			} else {
				b.note("A file was downloaded to %s.", quoted(place))
			}
		case late:
			b.note("The download of %s goes on. A later call says when it is complete.", quoted(one.name))
		}
	}
}

// keep moves a complete download into the workspace, under a name that is free.
func (b *chromium) keep(id, name string) (_ string, err error) {
	from, err := os.Open(filepath.Join(b.downloads(), filepath.Base(id)))
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, from.Close(), os.Remove(from.Name())) }()
	root, err := os.OpenRoot(b.c.Dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	if err := root.MkdirAll(downloadDir, 0o755); err != nil {
		return "", err
	}
	ext := path.Ext(name)
	for n := 0; ; n++ {
		place := path.Join(downloadDir, name)
		if n > 0 {
			place = path.Join(downloadDir, fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, ext), n, ext))
		}
		to, err := root.OpenFile(place, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = io.Copy(to, from)
		if err = errors.Join(err, to.Close()); err != nil {
			return "", errors.Join(err, root.Remove(place))
		}
		return filepath.Join(b.c.Dir, place), nil
	}
}
