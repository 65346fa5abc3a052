// Commands of prompts in a message: /SERVER:PROMPT at its beginning, and the arguments behind.
import type { PromptOffer } from '../api/prompts';

// A Word is the first word of a message that begins with a slash.
export interface Word {
  from: number;
  to: number;
  written: string; // as far as the caret
}

// wordAt is the word if the caret is in it, or at its end.
export function wordAt(text: string, caret: number): Word | null {
  const [, before, word] = /^(\s*)(\/\S*)/.exec(text) ?? [];
  if (before === undefined || word === undefined) return null;
  const from = before.length;
  const to = from + word.length;
  return caret > from && caret <= to ? { from, to, written: text.slice(from, caret) } : null;
}

// matching are the prompts whose command has the written word in it, those first that begin with it.
export function matching(offers: PromptOffer[], written: string): PromptOffer[] {
  const wanted = written.slice(1).toLowerCase();
  const at = (o: PromptOffer) => o.command.slice(1).toLowerCase().indexOf(wanted);
  return [...offers.filter((o) => at(o) === 0), ...offers.filter((o) => at(o) > 0)];
}

// withCommand replaces the word by a command; the caret is behind it then, where its arguments go.
export function withCommand(text: string, { from, to }: Word, command: string): { text: string; caret: number } {
  const rest = text.slice(to).replace(/^[ \t]/, '');
  const begin = `${text.slice(0, from)}${command} `;
  return { text: begin + rest, caret: begin.length };
}

// usage are the arguments as one writes them behind the command, those in brackets if one may leave them out.
export const usage = (o: PromptOffer): string => o.arguments.map(({ name, required }) => (required ? name.toUpperCase() : `[${name.toUpperCase()}]`)).join(' ');

// namedBy is the prompt whose command a message begins with.
export function namedBy(offers: PromptOffer[], text: string): PromptOffer | undefined {
  const [word] = text.trimStart().split(/\s/, 1);
  return offers.find((o) => o.command === word);
}
