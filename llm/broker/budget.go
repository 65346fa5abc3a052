package broker

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/catalog"
)

// nano is the unit of budgets: integers, so that sums have no rounding errors.
const nano = 1e9 // per dollar

// defaultOutput is the assumed longest answer of a model whose limit is
// unknown, in tokens. The broker requests no more than that.
const defaultOutput = 16_384

// minOutput is the shortest useful answer when the budget is nearly spent, in
// tokens.
const minOutput = 1_024

// Budget is a spending limit. A call reserves its highest possible cost before
// it is made and settles its actual cost afterwards, so that concurrent calls
// cannot exceed the limit together.
type Budget struct {
	outer *Budget // that this one is a part of; nil for none

	mu       sync.Mutex
	limit    int64 // nano-dollars
	spent    int64
	reserved int64
}

// NewBudget returns a budget of this many US dollars.
func NewBudget(dollars float64) *Budget { return &Budget{limit: toNano(dollars)} }

// NewBudgetWithin returns a budget of this many US dollars within another one: spending
// counts in both, and neither limit may be exceeded.
func NewBudgetWithin(outer *Budget, dollars float64) *Budget {
	return &Budget{limit: toNano(dollars), outer: outer}
}

// Spend adds earlier spending, for the budget of a conversation that is
// resumed. An outer budget is not changed.
func (b *Budget) Spend(dollars float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spent += toNano(dollars)
}

// SetLimit changes the limit. Calls in flight keep their reservations.
func (b *Budget) SetLimit(dollars float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limit = toNano(dollars)
}

// State returns the limit, the amount spent and the amount reserved by calls in
// flight, in US dollars.
func (b *Budget) State() (limit, spent, reserved float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return float64(b.limit) / nano, float64(b.spent) / nano, float64(b.reserved) / nano
}

// Reservation is the highest possible cost of one call.
type Reservation struct {
	budget         *Budget
	held           int64
	once           sync.Once
	prompt, output int // tokens it was computed for
	outer          *Reservation
}

// Reserve reserves US dollars for a call. It fails with kind Limit if the
// amount spent, the amount reserved and this one together exceed the limit.
func (b *Budget) Reserve(dollars float64) (*Reservation, error) {
	n := toNano(dollars)
	r := &Reservation{budget: b, held: n}
	if b.outer != nil {
		var err error
		if r.outer, err = b.outer.Reserve(dollars); err != nil {
			return nil, err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > b.limit-b.spent-b.reserved {
		r.outer.Settle(0)
		return nil, b.refuse(dollars)
	}
	b.reserved += n
	return r, nil
}

// refuse is called with the lock held.
func (b *Budget) refuse(dollars float64) error {
	msg := fmt.Sprintf("the spending limit of %s would be exceeded: %s is spent", exactDollars(float64(b.limit)/nano), llm.Dollars(float64(b.spent)/nano))
	if b.reserved > 0 {
		msg += fmt.Sprintf(", %s is reserved by calls in flight", llm.Dollars(float64(b.reserved)/nano))
	}
	msg += ", and the next call may cost up to " + llm.Dollars(dollars)
	return fault.New(fault.Limit, msg).Hint("raise the limit (--max-cost) to continue")
}

// Settle replaces the reservation by the actual cost of the call. Only the
// first call has an effect; a nil reservation is ignored.
func (r *Reservation) Settle(dollars float64) {
	if r == nil {
		return
	}
	r.once.Do(func() {
		r.budget.mu.Lock()
		defer r.budget.mu.Unlock()
		r.budget.reserved -= r.held
		r.budget.spent += toNano(dollars)
		r.outer.Settle(dollars)
	})
}

func (r *Reservation) amount() float64 { return float64(r.held) / nano }

// reserve reserves the highest possible cost of a request with a prompt of this
// many tokens. If the model's longest answer does not fit the budget, a shorter
// one is reserved and requested, unless it would be too short to be useful.
func (b *Budget) reserve(info llm.Info, prices catalog.Prices, prompt int, r *llm.Request) (*Reservation, error) {
	if !info.Price.Known {
		return nil, fault.New(fault.Limit, fmt.Sprintf("a spending limit is set, but the price of %s is unknown", info.Name)).
			Hint("set its price (--input-price and --output-price in US dollars for a million tokens, or input_cost_per_token and output_cost_per_token of its settings), or remove the limit")
	}
	price := prices.At(prompt)
	output := r.MaxOutputTokens
	if output == 0 || info.MaxOutput > 0 && output > info.MaxOutput {
		output = info.MaxOutput
	}
	if output == 0 {
		output = defaultOutput
	}
	res, err := b.Reserve(worstCost(price, prompt, output))
	if err != nil {
		if fits := b.affordable(price, prompt); fits >= minOutput && fits < output {
			output = fits
			res, err = b.Reserve(worstCost(price, prompt, output))
		}
	}
	if err != nil {
		return nil, err
	}
	res.prompt, res.output = prompt, output
	return res, nil
}

// affordable returns how many output tokens the rest of the budget pays for.
func (b *Budget) affordable(p llm.Price, prompt int) int {
	b.mu.Lock()
	left := float64(b.limit-b.spent-b.reserved) / nano
	b.mu.Unlock()
	left -= worstCost(p, prompt, 0)
	if left <= 0 || p.Output <= 0 {
		return 0
	}
	fits := int(math.Min(left*1e6/p.Output, 1e9))
	if b.outer != nil {
		fits = min(fits, b.outer.affordable(p, prompt))
	}
	return fits
}

// worstCost is the highest possible cost of a call: the whole prompt at the
// highest of the input prices.
func worstCost(p llm.Price, prompt, output int) float64 {
	return (float64(prompt)*max(p.Input, p.CacheWrite, p.CacheRead) + float64(output)*p.Output) / 1e6
}

// toNano rounds up, so that the sum of many small costs is never too low.
func toNano(dollars float64) int64 {
	switch n := math.Ceil(dollars*nano - 1e-6); {
	case math.IsNaN(n) || n < 0:
		return 0
	case n > math.MaxInt64/4:
		return math.MaxInt64 / 4
	default:
		return int64(n)
	}
}

// exactDollars shows an amount that a user has given, with at least two decimals.
func exactDollars(d float64) string {
	text := strconv.FormatFloat(d, 'f', -1, 64)
	whole, decimals, _ := strings.Cut(text, ".")
	for len(decimals) < 2 {
		decimals += "0"
	}
	return "$" + whole + "." + decimals
}
