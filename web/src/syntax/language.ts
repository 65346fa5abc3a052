// languageOf is the language of a file, by its name: how highlight.js calls it, or how names of
// its files end. Empty: the name says nothing.
export function languageOf(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase();
  if (/^(?:docker|container)file\b/.test(name)) return 'dockerfile';
  if (/^(?:gnu)?makefile\b/.test(name)) return 'makefile';
  if (name === 'cmakelists.txt') return 'cmake';
  const ending = /[^.]\.([a-z0-9+#]{1,12})$/.exec(name)?.[1] ?? '';
  return others[ending] ?? ending;
}

// others are endings that highlight.js does not know.
const others: Record<string, string> = {
  ...{ vue: 'xml', svelte: 'xml', astro: 'xml', mdx: 'markdown', jsonl: 'json', json5: 'json', webmanifest: 'json', ipynb: 'json', lock: '' },
  ...{ txt: '', log: '', csv: '', cfg: 'ini', conf: 'ini', env: 'ini', service: 'ini', bats: 'bash', pyi: 'python', pyx: 'python', cu: 'cpp', tpp: 'cpp' },
};
