// Reads Jupyter notebooks (nbformat 4). They may come from anybody: everything is checked,
// and scripts, widgets and HTML but tables in outputs are left out.

export interface Cell {
  kind: 'markdown' | 'code' | 'raw';
  source: string;
  count: number | null; // of the execution
  outputs: Output[];
}

export type Output =
  | { kind: 'text'; text: string; error: boolean }
  | { kind: 'image'; source: string } // a data: URL
  | { kind: 'tables'; html: string } // with anything else in it
  | { kind: 'markdown'; text: string }
  | { kind: 'omitted'; type: string };

export interface Notebook {
  language: string; // of its code
  cells: Cell[];
}

// mostCells is how many cells are shown.
export const mostCells = 2000;

// readNotebook returns null for anything but a notebook of version 4.
export function readNotebook(text: string): Notebook | null {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    return null;
  }
  const { nbformat, cells, metadata } = (document ?? {}) as { nbformat?: unknown; cells?: unknown; metadata?: { language_info?: { name?: unknown } } };
  if (nbformat !== 4 || !Array.isArray(cells)) return null;
  return { language: joined(metadata?.language_info?.name), cells: cells.slice(0, mostCells).map(readCell) };
}

function readCell(cell: unknown): Cell {
  const c = (cell ?? {}) as Record<string, unknown>;
  return {
    kind: c.cell_type === 'markdown' || c.cell_type === 'code' ? c.cell_type : 'raw',
    source: joined(c.source),
    count: typeof c.execution_count === 'number' ? c.execution_count : null,
    outputs: Array.isArray(c.outputs) ? c.outputs.map(readOutput) : [],
  };
}

function readOutput(output: unknown): Output {
  const o = (output ?? {}) as Record<string, unknown>;
  if (o.output_type === 'stream') return { kind: 'text', text: joined(o.text), error: o.name === 'stderr' };
  if (o.output_type === 'error') {
    const trace = Array.isArray(o.traceback) ? o.traceback.filter((line) => typeof line === 'string').join('\n') : '';
    return { kind: 'text', text: trace || `${joined(o.ename)}: ${joined(o.evalue)}`, error: true };
  }
  const data = (o.data ?? {}) as Record<string, unknown>;
  for (const type of ['image/png', 'image/jpeg', 'image/gif', 'image/webp']) {
    const bytes = joined(data[type]).replace(/\s/g, '');
    if (bytes !== '' && /^[A-Za-z0-9+/]+=*$/.test(bytes)) return { kind: 'image', source: `data:${type};base64,${bytes}` };
  }
  // A picture, not a document: it cannot run or load anything.
  const drawing = joined(data['image/svg+xml']);
  if (drawing !== '') return { kind: 'image', source: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(drawing)}` };
  const html = joined(data['text/html']);
  if (html.includes('<table')) return { kind: 'tables', html };
  const markdown = joined(data['text/markdown']);
  if (markdown !== '') return { kind: 'markdown', text: markdown };
  for (const type of ['text/latex', 'text/plain']) {
    const text = joined(data[type]);
    if (text !== '') return { kind: 'text', text, error: false };
  }
  const types = Object.keys(data);
  return { kind: 'omitted', type: types[0] ?? 'unknown' };
}

// joined reads a text that may be a list of its lines.
function joined(value: unknown): string {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value)) return '';
  return value.filter((line) => typeof line === 'string').join('');
}
