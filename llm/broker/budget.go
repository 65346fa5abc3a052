package broker

import (
	"cmp"
	"context"
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
//
// An estimate can be too low. So that eight calls at once do not miss it eight times, a
// call beside others also leaves room for each of them to cost as much more than its
// reservation as the worst call so far. As long as no call has shown by how much, calls
// wait for each other.
type Budget struct {
	outer *Budget // that this one is a part of; nil for none

	mu       sync.Mutex
	limit    int64 // nano-dollars
	spent    int64
	reserved int64
	running  int           // calls with a reservation
	missed   int64         // the most that a call has cost above its reservation
	measured bool          // a call has shown its cost
	settled  chan struct{} // closed when the next call is settled; nil if nobody waits
}

// NewBudget returns a budget of this many US dollars.
func NewBudget(dollars float64) *Budget { return &Budget{limit: toNano(dollars)} }

// NewBudgetWithin returns a budget of this many US dollars within another one: spending
// counts in both, and neither limit may be exceeded.
func NewBudgetWithin(outer *Budget, dollars float64) *Budget {
	outer.mu.Lock()
	defer outer.mu.Unlock()
	return &Budget{limit: toNano(dollars), outer: outer, missed: outer.missed}
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
// amount spent, the amount reserved and this one together exceed the limit. It waits for no other call.
func (b *Budget) Reserve(dollars float64) (*Reservation, error) {
	return b.hold(context.Background(), dollars, false)
}

// hold is Reserve. With wait it waits for other calls until one has shown its cost; its error is the cause
// of the end of ctx if that comes before.
func (b *Budget) hold(ctx context.Context, dollars float64, wait bool) (_ *Reservation, err error) {
	r := &Reservation{budget: b, held: toNano(dollars)}
	if b.outer != nil { // which has the calls of all its parts
		if r.outer, err = b.outer.hold(ctx, dollars, wait); err != nil {
			return nil, err
		}
		wait = false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for wait && b.running > 0 && !b.measured {
		if err := b.await(ctx); err != nil {
			return nil, err
		}
	}
	if r.held > b.left() {
		r.outer.Settle(0)
		return nil, b.refuse(dollars)
	}
	b.reserved += r.held
	b.running++
	return r, nil
}

// await returns when another call is settled. It is called with the lock held, which it releases meanwhile.
func (b *Budget) await(ctx context.Context) error {
	if b.settled == nil {
		b.settled = make(chan struct{})
	}
	settled := b.settled
	b.mu.Unlock()
	defer b.mu.Lock()
	select {
	case <-settled:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// left is what another call may reserve, in nano-dollars. It is called with the lock held.
func (b *Budget) left() int64 { return b.limit - b.spent - b.reserved - b.margin() }

// margin is what the calls in flight may cost above their reservations. A call alone leaves no
// room for that: its own estimate is the only one that can be missed.
func (b *Budget) margin() int64 {
	if b.missed > 0 && int64(b.running) > math.MaxInt64/4/b.missed {
		return math.MaxInt64 / 4
	}
	return int64(b.running) * b.missed
}

// refuse is called with the lock held.
func (b *Budget) refuse(dollars float64) error {
	msg := fmt.Sprintf("the spending limit of %s would be exceeded: %s is spent", exactDollars(float64(b.limit)/nano), llm.Dollars(float64(b.spent)/nano))
	if b.reserved > 0 {
		msg += fmt.Sprintf(", %s is reserved by calls in flight", llm.Dollars(float64(b.reserved)/nano))
	}
	if m := b.margin(); m > 0 {
		msg += fmt.Sprintf(", which may cost %s more than estimated, as another call has", llm.Dollars(float64(m)/nano))
	}
	msg += ", and the next call may cost up to " + llm.Dollars(dollars)
	return fault.New(fault.Limit, msg).Hint("raise the limit (--max-cost) to continue")
}

// Settle replaces the reservation by the cost of the call; 0 for one that was not made. Only the
// first call has an effect; a nil reservation is ignored.
func (r *Reservation) Settle(dollars float64) { r.end(dollars, dollars > 0) }

// end is Settle. measured says that the cost is known, and no estimate.
func (r *Reservation) end(dollars float64, measured bool) {
	if r == nil {
		return
	}
	r.once.Do(func() {
		cost := toNano(dollars)
		b := r.budget
		b.mu.Lock()
		defer b.mu.Unlock()
		b.reserved -= r.held
		b.running--
		b.spent += cost
		if measured {
			b.missed = max(b.missed, cost-r.held)
			b.measured = true
		}
		if b.settled != nil {
			close(b.settled)
			b.settled = nil
		}
		r.outer.end(dollars, measured)
	})
}

func (r *Reservation) amount() float64 { return float64(r.held) / nano }

// reserve reserves the highest possible cost of a request with a prompt of this
// many tokens. If the model's longest answer does not fit the budget, a shorter
// one is reserved and requested, unless it would be too short to be useful. It waits until ctx ends for
// the call that shows how good estimates are.
func (b *Budget) reserve(ctx context.Context, info llm.Info, prices catalog.Prices, prompt int, r *llm.Request) (*Reservation, error) {
	if !info.Price.Known {
		return nil, fault.New(fault.Limit, fmt.Sprintf("a spending limit is set, but the price of %s is unknown", info.Name)).
			Hint("set its price (--input-price and --output-price in US dollars for a million tokens, or input_cost_per_token and output_cost_per_token of its settings), or remove the limit")
	}
	price := prices.At(prompt)
	output := r.MaxOutputTokens
	if output == 0 || info.MaxOutput > 0 && output > info.MaxOutput {
		output = info.MaxOutput
	}
	output = cmp.Or(output, defaultOutput)
	res, err := b.hold(ctx, worstCost(price, prompt, output), true)
	if fault.Is(err, fault.Limit) {
		if fits := b.affordable(price, prompt); fits >= minOutput && fits < output {
			output = fits
			res, err = b.hold(ctx, worstCost(price, prompt, output), true)
		}
	}
	if err != nil && ctx.Err() != nil {
		return nil, canceled(llm.NewError(fault.Canceled, info.Provider, info.Name, "another call of the same spending limit was not over", nil), err)
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
	left := float64(b.left()) / nano
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
