package broker

import (
	"errors"
	"slices"

	"github.com/deft-dev/deft/llm"
)

// discarded are the answers to one request that were of no use, in order.
type discarded []*llm.Response

// take adds the answers of an attempt that failed.
func (d *discarded) take(err error) {
	if e, ok := errors.AsType[*llm.Error](err); ok {
		*d = append(*d, e.Discarded...)
	}
}

// before returns the answer that came after them, with them.
func (d discarded) before(r *llm.Response) *llm.Response {
	if len(d) == 0 {
		return r
	}
	c := *r
	c.Discarded = slices.Concat(d, r.Discarded)
	return &c
}

// with returns the error of the last attempt, with them.
func (d discarded) with(err error) error {
	if e, ok := errors.AsType[*llm.Error](err); ok {
		e.Discarded = d
	}
	return err
}

// billed is the cost of the discarded answers, as far as it is known.
func billed(err error) (dollars float64) {
	if e, ok := errors.AsType[*llm.Error](err); ok {
		for _, r := range e.Discarded {
			dollars += r.Cost
		}
	}
	return dollars
}
