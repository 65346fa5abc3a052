// words splits the command line of a program: at blanks, but not within quotation marks.
// Nothing else is expanded, as no shell runs it.
export function words(line: string): string[] {
  return [...line.matchAll(/(?:"[^"]*"|'[^']*'|[^\s"']|["'])+/g)].map(([word]) => word.replace(/"([^"]*)"|'([^']*)'/g, (_, a?: string, b?: string) => a ?? b ?? ''));
}

// line joins words so that [words] finds them again.
export function line(all: string[]): string {
  return all.map((word) => (word !== '' && !/[\s"']/.test(word) ? word : word.includes('"') ? `'${word}'` : `"${word}"`)).join(' ');
}
