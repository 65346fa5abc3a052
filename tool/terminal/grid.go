package terminal

import (
	"strings"
)

// grid is the alternate screen, on which full-screen programs (editors,
// pagers, dialogs) draw. Only its last state is used.
type grid struct {
	rows, cols int
	cells      [][]rune // 0 is blank
	r, c       int
	top, bot   int // scroll region, inclusive
	sr, sc     int // saved cursor
}

func newGrid(rows, cols int) *grid {
	g := &grid{rows: max(rows, 1), cols: max(cols, 1)}
	g.cells = make([][]rune, g.rows)
	for i := range g.cells {
		g.cells[i] = make([]rune, g.cols)
	}
	g.bot = g.rows - 1
	return g
}

// String returns the screen without trailing blanks, and marks the cursor's
// line and column in a last line.
func (g *grid) String() string {
	var b strings.Builder
	blank := 0
	for _, row := range g.cells {
		line := strings.TrimRight(strings.ReplaceAll(string(row), "\x00", " "), " ")
		if line == "" {
			blank++
			continue
		}
		b.WriteString(strings.Repeat("\n", blank))
		blank = 0
		b.WriteString(line)
		b.WriteByte('\n')
	}
	return b.String()
}

func (g *grid) text(run []byte) {
	for _, r := range string(run) {
		if g.c >= g.cols {
			g.c = 0
			g.down()
		}
		g.cells[g.r][g.c] = r
		g.c++
	}
}

func (g *grid) down() {
	if g.r == g.bot {
		g.scroll(g.top, 1)
	} else if g.r < g.rows-1 {
		g.r++
	}
}

// scroll moves the lines from the given one to the end of the region up by
// n, or down for a negative n.
func (g *grid) scroll(from, n int) {
	if from < g.top || from > g.bot {
		return
	}
	for range min(max(n, -n), g.rows) {
		if n > 0 {
			first := g.cells[from]
			copy(g.cells[from:g.bot], g.cells[from+1:g.bot+1])
			g.cells[g.bot] = first
			clear(first)
		} else {
			last := g.cells[g.bot]
			copy(g.cells[from+1:g.bot+1], g.cells[from:g.bot])
			g.cells[from] = last
			clear(last)
		}
	}
}

func (g *grid) moveTo(r, c int) {
	g.r, g.c = min(max(r, 0), g.rows-1), min(max(c, 0), g.cols-1)
}

func (g *grid) control(c byte) {
	switch c {
	case '\n', '\v', '\f':
		g.down()
	case '\r':
		g.c = 0
	case '\b':
		g.moveTo(g.r, g.c-1)
	case '\t':
		g.moveTo(g.r, (g.c/8+1)*8)
	}
}

func (g *grid) esc(final byte) {
	switch final {
	case 'D':
		g.down()
	case 'E':
		g.c = 0
		g.down()
	case 'M':
		if g.r == g.top {
			g.scroll(g.top, -1)
		} else {
			g.moveTo(g.r-1, g.c)
		}
	case '7':
		g.sr, g.sc = g.r, g.c
	case '8':
		g.moveTo(g.sr, g.sc)
	}
}

func (g *grid) csi(params []int, final byte) {
	n := param(params, 0, 1)
	switch final {
	case 'A':
		g.moveTo(g.r-n, g.c)
	case 'B', 'e':
		g.moveTo(g.r+n, g.c)
	case 'C', 'a':
		g.moveTo(g.r, g.c+n)
	case 'D':
		g.moveTo(g.r, g.c-n)
	case 'E':
		g.moveTo(g.r+n, 0)
	case 'F':
		g.moveTo(g.r-n, 0)
	case 'G', '`':
		g.moveTo(g.r, n-1)
	case 'd':
		g.moveTo(n-1, g.c)
	case 'H', 'f':
		g.moveTo(n-1, param(params, 1, 1)-1)
	case 'r':
		g.region(n-1, param(params, 1, g.rows)-1)
	case 's':
		g.esc('7')
	case 'u':
		g.esc('8')
	default:
		g.edit(params, final)
	}
}

func (g *grid) region(top, bot int) {
	if bot = min(bot, g.rows-1); top < bot {
		g.top, g.bot = top, bot
		g.moveTo(0, 0)
	}
}

// edit executes the sequences that change text.
func (g *grid) edit(params []int, final byte) {
	n := param(params, 0, 1)
	// A cursor that waits to wrap stands on the last column.
	col := min(g.c, g.cols-1)
	row := g.cells[g.r]
	switch final {
	case 'J':
		g.eraseDisplay(param(params, 0, 0), col)
	case 'K':
		erase(row, param(params, 0, 0), col)
	case 'X':
		clear(row[col:min(col+n, g.cols)])
	case 'P':
		k := copy(row[col:], row[min(col+n, g.cols):])
		clear(row[col+k:])
	case '@':
		n = min(n, g.cols-col)
		copy(row[col+n:], row[col:])
		clear(row[col : col+n])
	case 'L':
		g.scroll(g.r, -n)
	case 'M':
		g.scroll(g.r, n)
	case 'S':
		g.scroll(g.top, n)
	case 'T':
		g.scroll(g.top, -n)
	}
}

// erase clears a part of a line: 0 from col on, 1 up to col, 2 all.
func erase(row []rune, mode, col int) {
	switch mode {
	case 0:
		clear(row[col:])
	case 1:
		clear(row[:col+1])
	case 2:
		clear(row)
	}
}

func (g *grid) eraseDisplay(mode, col int) {
	for i, row := range g.cells {
		switch {
		case mode == 0 && i > g.r, mode == 1 && i < g.r, mode == 2, mode == 3:
			clear(row)
		case i == g.r:
			erase(row, mode, col)
		}
	}
}
