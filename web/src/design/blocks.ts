import { Lexer } from 'marked';

// blocksOf splits a text into blocks of Markdown, and reuses the blocks of an earlier, shorter
// text. Later text may change the last two. The content of a block is not read here.
export function blocksOf(text: string, before: string[]): string[] {
  const whole = text.replace(/\r\n?/g, '\n');
  let settled = before.slice(0, -2);
  let from = settled.reduce((sum, block) => sum + block.length, 0);
  if (!whole.startsWith(settled.join(''))) [settled, from] = [[], 0];
  return [...settled, ...new Lexer().blockTokens(whole.slice(from)).map((token) => token.raw)];
}
