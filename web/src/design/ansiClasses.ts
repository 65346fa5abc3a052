// The classes of coloured output. The page has eight colours, which can be read in both themes:
// others become the one of these with the nearest hue.

// Coloured is what Anser says of a piece of text, with classes for colours.
export interface Coloured {
  fg: string | null;
  bg: string | null;
  fg_truecolor: string | null; // "R, G, B", of the class ansi-truecolor
  bg_truecolor: string | null;
  decorations?: string[];
}

// ansiClasses are the classes of a piece. On a coloured background the text has the usual colour,
// so that it can be read.
export function ansiClasses({ fg, bg, fg_truecolor, bg_truecolor, decorations = [] }: Coloured): string {
  const colour = bg ? `${nearest(bg, bg_truecolor)}-bg` : fg ? nearest(fg, fg_truecolor) : '';
  return [colour, ...decorations].filter(Boolean).join(' ');
}

const hues = ['red', 'yellow', 'green', 'cyan', 'blue', 'magenta'];

function nearest(name: string, truecolor: string | null): string {
  const place = /^ansi-palette-(\d+)$/.exec(name)?.[1];
  if (place === undefined && name !== 'ansi-truecolor') return name;
  const [r = 0, g = 0, b = 0] = place === undefined ? (truecolor ?? '').split(',').map(Number) : ofPalette(Number(place));
  const most = Math.max(r, g, b);
  const range = most - Math.min(r, g, b);
  if (range <= most / 4) return 'ansi-white';
  const sector = most === r ? (g - b) / range : most === g ? 2 + (b - r) / range : 4 + (r - g) / range;
  return `ansi-${hues[(Math.round(sector) + 6) % 6]}`;
}

// ofPalette is a colour of the 256, from the 16th on: a cube, and then greys.
function ofPalette(n: number): number[] {
  if (n >= 232) return [n, n, n];
  const step = (of: number) => (of === 0 ? 0 : 55 + 40 * of);
  return [Math.floor((n - 16) / 36), Math.floor((n - 16) / 6) % 6, (n - 16) % 6].map(step);
}
