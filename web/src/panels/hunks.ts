// Comparison of two texts, line by line.
import { structuredPatch } from 'diff';

export interface Line {
  kind: 'same' | 'added' | 'removed';
  text: string;
  before: number | null; // line numbers
  after: number | null;
}

export interface Hunk {
  lines: Line[];
}

// longest is how large the texts may be that are compared in the page, in
// characters of both, and timeout how long that may take, in milliseconds.
const longest = 1_000_000;
const timeout = 1000;

// compare returns null if the texts are too large or too different.
export function compare(before: string, after: string): Hunk[] | null {
  if (before.length + after.length > longest) return null;
  const patch = structuredPatch('', '', ended(before), ended(after), '', '', { context: 3, timeout });
  if (!patch) return null;
  return patch.hunks.map((hunk) => {
    let old = hunk.oldStart;
    let now = hunk.newStart;
    const lines: Line[] = [];
    for (const line of hunk.lines) {
      const text = line.slice(1);
      if (line.startsWith('+')) lines.push({ kind: 'added', text, before: null, after: now++ });
      else if (line.startsWith('-')) lines.push({ kind: 'removed', text, before: old++, after: null });
      else if (line.startsWith(' ')) lines.push({ kind: 'same', text, before: old++, after: now++ });
    }
    return { lines };
  });
}

// ended leaves a missing line end at the end of a text out of the comparison:
// the server does not always send it.
function ended(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}

// pairs puts removed and added lines of a hunk beside each other.
export function pairs({ lines }: Hunk): [Line | null, Line | null][] {
  const rows: [Line | null, Line | null][] = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at];
    if (line?.kind === 'same') {
      rows.push([line, line]);
      at++;
      continue;
    }
    const left: Line[] = [];
    const right: Line[] = [];
    for (let l = lines[at]; l && l.kind !== 'same'; l = lines[++at]) (l.kind === 'removed' ? left : right).push(l);
    for (let i = 0; i < Math.max(left.length, right.length); i++) rows.push([left[i] ?? null, right[i] ?? null]);
  }
  return rows;
}
