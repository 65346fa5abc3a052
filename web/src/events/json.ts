import { textOf, type ObservationData } from '../api/event';

// resultText is the text of a result. Tools of MCP servers often answer with JSON in one line.
export function resultText({ kind, content }: ObservationData): string {
  if (kind !== 'MCPToolObservation') return textOf(content);
  return textOf(content?.map((part) => (part.text === undefined ? part : { ...part, text: indented(part.text) })));
}

// indented is a text with lines of its own for the parts of an object or a list, if it is one in
// JSON on a single line. Numbers and texts stay as they are written.
export function indented(text: string): string {
  const line = text.trim();
  if (!/^[[{].*[\]}]$/.test(line)) return text;
  try {
    JSON.parse(line);
  } catch {
    return text;
  }
  let depth = 0;
  const newLine = () => `\n${'  '.repeat(depth)}`;
  return line.replace(tokens, (token: string) => {
    if (token === ':') return ': ';
    if (token === ',') return `,${newLine()}`;
    if (/^[[{]$/.test(token)) {
      depth++;
      return token + newLine();
    }
    if (/^[\]}]$/.test(token)) {
      depth--;
      return newLine() + token;
    }
    return token.trim() === '' || token.length === 2 ? token.trim() : token;
  });
}

// Texts and empty lists and objects are whole; the other tokens are marks and the spaces around.
const tokens = /"(?:[^"\\]|\\.)*"|\[\s*\]|\{\s*\}|[[\]{},:]|\s+/g;
