package broker

import (
	"fmt"
	"math"
	"sync"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/catalog"
)

// nano is the unit that budgets count in: whole numbers, so that adding up
// never drifts.
const nano = 1e9 // per dollar

// defaultOutput is the worst case of an answer of a model whose longest is not
// known, in tokens. The broker then asks for no more.
const defaultOutput = 16_384

// least is the shortest answer worth asking for when the budget is nearly
// spent, in tokens.
const minOutput = 1_024

// Budget is a limit on spending. A call reserves its worst case before it is
// made and settles what it really cost afterwards, so that calls in flight
// never spend the same cent twice.
type Budget struct {
	mu       sync.Mutex
	limit    int64 // nano-dollars
	spent    int64
	reserved int64
}

// NewBudget returns a budget of so many US dollars.
func NewBudget(dollars float64) *Budget { return &Budget{limit: toNano(dollars)} }

// Spend adds what was spent before, for a budget of a conversation that is
// resumed.
func (b *Budget) Spend(dollars float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spent += toNano(dollars)
}

// SetLimit changes the limit. Calls in flight keep what they reserved.
func (b *Budget) SetLimit(dollars float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limit = toNano(dollars)
}

// State returns the limit, what was spent, and what calls in flight hold, in
// US dollars.
func (b *Budget) State() (limit, spent, reserved float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return float64(b.limit) / nano, float64(b.spent) / nano, float64(b.reserved) / nano
}

// Reservation is the worst case of one call.
type Reservation struct {
	budget         *Budget
	held           int64
	once           sync.Once
	prompt, output int // tokens it was computed for
}

// Reserve holds an amount of US dollars for a call. It fails with kind Limit
// if what was spent, what is reserved and the amount exceed the limit.
func (b *Budget) Reserve(dollars float64) (*Reservation, error) {
	n := toNano(dollars)
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > b.limit-b.spent-b.reserved {
		return nil, b.refuse(dollars)
	}
	b.reserved += n
	return &Reservation{budget: b, held: n}, nil
}

// refuse is called with the lock held.
func (b *Budget) refuse(dollars float64) error {
	msg := fmt.Sprintf("the spending limit of $%.2f would be exceeded: $%.4f is spent", float64(b.limit)/nano, float64(b.spent)/nano)
	if b.reserved > 0 {
		msg += fmt.Sprintf(", $%.4f is reserved by calls in flight", float64(b.reserved)/nano)
	}
	msg += fmt.Sprintf(", and the next call may cost up to $%.4f", dollars)
	return fault.New(fault.Limit, msg).Hint("raise the limit (--max-cost) to go on")
}

// Settle replaces the reservation by what the call really cost. Only the first
// call of Settle counts. Settling no reservation (nil) does nothing.
func (r *Reservation) Settle(dollars float64) {
	if r == nil {
		return
	}
	r.once.Do(func() {
		r.budget.mu.Lock()
		defer r.budget.mu.Unlock()
		r.budget.reserved -= r.held
		r.budget.spent += toNano(dollars)
	})
}

func (r *Reservation) amount() float64 { return float64(r.held) / nano }

// reserve holds the worst case of a request with a prompt of so many tokens.
// Where the model's longest answer does not fit what is left, a shorter one is
// reserved, and asked for, as long as it is worth asking.
func (b *Budget) reserve(info llm.Info, prices catalog.Prices, prompt int, r *llm.Request) (*Reservation, error) {
	if !info.Price.Known {
		return nil, fault.New(fault.Limit, fmt.Sprintf("a spending limit is set, but the price of %s is not known", info.Name)).
			Hint("give its price with --input-price and --output-price (US dollars for a million tokens), or leave --max-cost out")
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

// affordable returns how many tokens of output what is left pays for.
func (b *Budget) affordable(p llm.Price, prompt int) int {
	b.mu.Lock()
	left := float64(b.limit-b.spent-b.reserved) / nano
	b.mu.Unlock()
	left -= worstCost(p, prompt, 0)
	if left <= 0 || p.Output <= 0 {
		return 0
	}
	return int(math.Min(left*1e6/p.Output, 1e9))
}

// worst is the highest cost of a call: the whole prompt at the dearest of the
// input prices.
func worstCost(p llm.Price, prompt, output int) float64 {
	return (float64(prompt)*max(p.Input, p.CacheWrite, p.CacheRead) + float64(output)*p.Output) / 1e6
}

// toNano rounds up, so that many small costs are never less than their sum.
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
