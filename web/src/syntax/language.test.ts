import { expect, test } from 'vitest';
import { languageOf } from './language';

test.each([
  ['/workspace/a.go', 'go'],
  ['web/src/App.TSX', 'tsx'],
  ['Dockerfile', 'dockerfile'],
  ['build/Dockerfile.dev', 'dockerfile'],
  ['Makefile', 'makefile'],
  ['CMakeLists.txt', 'cmake'],
  ['page.vue', 'xml'],
  ['notes.txt', ''],
  ['LICENSE', ''],
  ['.gitignore', ''],
  ['a.b/c', ''],
  ['x.<script>', ''],
])('the language of %s is "%s"', (path, want) => {
  expect(languageOf(path)).toBe(want);
});
