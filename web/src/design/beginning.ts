// How much of a long text is drawn at once.

// firstDrawn is how much is drawn at first. A line costs 1, and each cell of a table 1 more.
export const firstDrawn = 2000;

// longest is how many characters one unit stands for in long lines.
const longest = 100;

export interface Beginning {
  text: string;
  left: number; // lines that are not in it
}

// beginning cuts a text behind the last line that its limit allows. At least one line, or its
// beginning, is left.
export function beginning(text: string, limit: number): Beginning {
  if (text.length < limit / 2) return { text, left: 0 };
  let cost = 0;
  let at = 0;
  while (at < text.length) {
    const found = text.indexOf('\n', at);
    const end = found < 0 ? text.length : found + 1;
    const spent = cost + costOf(text, at, end);
    if (spent > limit) {
      const cut = at > 0 ? at : Math.min(end, limit * longest);
      return { text: text.slice(0, cut), left: lines(text, cut) };
    }
    cost = spent;
    at = end;
  }
  return { text, left: 0 };
}

function costOf(text: string, from: number, to: number): number {
  let cells = 0;
  for (let i = text.indexOf('|', from); i >= 0 && i < to; i = text.indexOf('|', i + 1)) cells++;
  return 1 + cells + Math.floor((to - from) / longest);
}

function lines(text: string, from: number): number {
  let n = 1;
  for (let i = text.indexOf('\n', from); i >= 0 && i < text.length - 1; i = text.indexOf('\n', i + 1)) n++;
  return n;
}
