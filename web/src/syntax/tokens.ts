import { kindOf, kinds, type Kind } from './kinds';

// Tokens are the words of a text that have a colour: of each its start, its end, and the
// place of its kind in `kinds`, in the order of the text.
export type Tokens = Uint32Array;

const parts = /<span class="([^"]*)">|<\/span>|&(?:amp|lt|gt|quot|#x27);|[^<&]+/g;

// tokensOf reads the markup that highlight.js writes.
export function tokensOf(markup: string): Tokens {
  const found: number[] = [];
  const around: (Kind | null)[] = []; // null: as what is around it
  let at = 0;
  for (const [part, names] of markup.matchAll(parts)) {
    if (names !== undefined) {
      around.push(kindOf.get(/hljs-([\w-]+)/.exec(names)?.[1] ?? '') ?? null);
    } else if (part === '</span>') {
      around.pop();
    } else {
      const end = at + (part.startsWith('&') ? 1 : part.length);
      const kind = kinds.indexOf(around.findLast((one) => one !== null) ?? 'plain');
      const joins = found.at(-2) === at && found.at(-1) === kind;
      if (joins) found[found.length - 2] = end;
      else if (kind > 0) found.push(at, end, kind);
      at = end;
    }
  }
  return Uint32Array.from(found);
}
