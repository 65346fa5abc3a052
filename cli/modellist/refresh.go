package modellist

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/deft-dev/deft/cli/stdio"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm/catalog"
)

// Refresh replaces the user's own list.
type Refresh struct {
	From string `required:"" help:"File or address of LiteLLM's model_prices_and_context_window.json." placeholder:"FILE|URL"`
	JSON bool   `name:"json" help:"Print the result as a JSON object."`
}

// Help is shown by --help.
func (c *Refresh) Help() string {
	return `Deft never fetches prices by itself. The list is kept in deft/models.json below
$XDG_CONFIG_HOME or ~/.config and goes before what Deft was built with; delete it to go back.

  deft llm models refresh --from https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json`
}

// maxPriceList bounds a price list: 64 MiB.
const maxPriceList = 64 << 20

// Run reads a price list and keeps it.
func (c *Refresh) Run(ctx context.Context, std *stdio.Streams) error {
	path := catalog.UserFile(std.Env)
	if path == "" {
		return fault.New(fault.Invalid, "neither HOME nor XDG_CONFIG_HOME is set").Hint("set one of them to a directory for your own files")
	}
	data, source, err := c.read(ctx)
	if err != nil {
		return err
	}
	list, err := catalog.Default().FromLiteLLM(data, source, time.Now().UTC().Format(time.DateOnly))
	if err != nil {
		return err
	}
	if err := catalog.Save(path, list.Data); err != nil {
		return err
	}
	if c.JSON {
		return std.PrintJSON(map[string]any{"path": path, "models": list.Models, "unpriced": list.Unpriced, "skipped": list.Skipped})
	}
	_, err = fmt.Fprintf(std.Out, "%s: %d models, %d of them without a price; %d other entries passed over\n", path, list.Models, list.Unpriced, list.Skipped)
	return err
}

// read returns the list and where it is from, without a password or a query.
func (c *Refresh) read(ctx context.Context) (data []byte, source string, err error) {
	u, err := url.Parse(c.From)
	if err == nil && (u.Scheme == "http" || u.Scheme == "https") {
		return c.download(ctx, u)
	}
	f, err := os.Open(c.From)
	if err != nil {
		return nil, "", fault.New(fault.Invalid, "the price list cannot be read").Because(err).Hint("check --from")
	}
	defer f.Close()
	data, err = readList(f)
	return data, c.From, err
}

func (c *Refresh) download(ctx context.Context, u *url.URL) (data []byte, source string, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.From, nil)
	if err != nil {
		return nil, "", fault.New(fault.Invalid, "--from is not an address")
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		if whole, ok := errors.AsType[*url.Error](err); ok { // it shows the query
			err = whole.Err
		}
		return nil, "", fault.New(fault.Unavailable, "cannot reach "+u.String()).Because(err).Hint("download the list and give the file to --from")
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, "", fault.New(fault.Unavailable, fmt.Sprintf("%s answered with status %d", u, res.StatusCode))
	}
	data, err = readList(res.Body)
	return data, u.String(), err
}

func readList(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxPriceList+1))
	if err != nil {
		return nil, fault.New(fault.Unavailable, "the price list cannot be read to its end").Because(err)
	}
	if len(data) > maxPriceList {
		return nil, fault.New(fault.Invalid, "the price list is larger than 64 MiB")
	}
	return data, nil
}
