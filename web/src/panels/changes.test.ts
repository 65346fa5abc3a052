import { expect, test } from 'vitest';
import type { Change } from '../api/git';
import { branchFor, lines, rows, total, type Row } from './changes';

test('rows have what is staged, and what is committed has nothing to stage', () => {
  const file = (path: string, staged: boolean, unstaged: boolean) => ({ path, staged, unstaged, conflicted: false, repository: false });
  const status = { branch: 'main', head: 'x', unpushed: 1, files: [file('a', true, true), file('b', true, false), file('d', false, true)] };
  const change = (path: string, of: Change['status'], from?: string): Change => ({ path, status: of, from, added: 2, deleted: 1, binary: false });
  const changes = [change('b', 'ADDED'), change('a', 'UPDATED'), change('c', 'DELETED')];
  expect(rows(changes, status).map((r) => [r.path, r.change.status, r.staged])).toEqual([
    ['a', 'UPDATED', 'part'],
    ['b', 'ADDED', 'all'],
    ['c', 'DELETED', null],
    ['d', 'UPDATED', 'none'],
  ]);
  expect(rows(changes, null).every((r) => r.staged === null)).toBe(true);
  expect(total(rows(changes, status))).toEqual({ added: 6, deleted: 3 });
  expect(total(rows([], status))).toBeNull(); // of files that no count names
  const moved = rows([change('d', 'MOVED', 'b')], status);
  expect(moved.map((r) => [r.path, r.staged])).toEqual([
    ['a', 'part'],
    ['d', 'part'],
  ]);
});

test('a branch is proposed that is not the one the work is for', () => {
  expect(branchFor('fix', 'main', 'T')).toBe('fix');
  expect(branchFor('release', 'release', 'Fix: the Größe & more!')).toBe('deft/fix-the-gro-e-more');
  expect(branchFor('main', '', '修正')).toBe('deft/work');
  expect(branchFor(null, '', 'a'.repeat(60))).toBe(`deft/${'a'.repeat(40)}`);
});

test('lines are a tree: directories first, chains of directories in one line', () => {
  const row = (path: string): Row => ({ path, change: { path, status: 'ADDED', added: 1, deleted: 0, binary: false }, staged: null, conflicted: false, repository: false });
  const show = (paths: string[], ...closed: string[]) => lines(paths.map(row), new Set(closed)).map((l) => '  '.repeat(l.depth) + (l.directory === null ? l.name : `${l.open ? '-' : '+'} ${l.name}`));
  const paths = ['a.txt', 'src/b/c/one.go', 'src/b/c/two.go', 'src/b/d.go', 'web/x/y/z.ts', 'README'];
  expect(show(paths)).toEqual(['- src/b', '  - c', '    one.go', '    two.go', '  d.go', '- web/x/y', '  z.ts', 'a.txt', 'README']);
  expect(show(paths, 'src/b', 'web/x/y')).toEqual(['+ src/b', '+ web/x/y', 'a.txt', 'README']);
  expect(show(paths, 'src/b/c')).toEqual(['- src/b', '  + c', '  d.go', '- web/x/y', '  z.ts', 'a.txt', 'README']);
  // A file that became a directory, a repository within this one, and a path from the root.
  expect(show(['a', 'a/b', 'sub/repo/', '/tmp/x'])).toEqual(['- /tmp', '  x', '- a', '  b', '- sub', '  repo/', 'a']);
  expect(show([])).toEqual([]);
  const deep = `${'d/'.repeat(2000)}x`;
  expect(show([deep])).toEqual([`- ${'d/'.repeat(1999)}d`, '  x']);
  expect(lines(Array.from({ length: 500 }, (_, i) => row(`${'d/'.repeat(i)}x`)), new Set())).toHaveLength(999);
});
