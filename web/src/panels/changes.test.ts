import { expect, test } from 'vitest';
import { branchFor, rows } from './changes';

test('rows have what is staged, and what is committed has nothing to stage', () => {
  const file = (path: string, staged: boolean, unstaged: boolean) => ({ path, staged, unstaged, conflicted: false });
  const status = { branch: 'main', head: 'x', unpushed: 1, files: [file('a', true, true), file('b', true, false), file('d', false, true)] };
  const changes = [
    { path: 'b', status: 'ADDED' as const },
    { path: 'a', status: 'UPDATED' as const },
    { path: 'c', status: 'DELETED' as const },
  ];
  expect(rows(changes, status).map((r) => [r.path, r.status, r.staged])).toEqual([
    ['a', 'UPDATED', 'part'],
    ['b', 'ADDED', 'all'],
    ['c', 'DELETED', null],
    ['d', 'UPDATED', 'none'],
  ]);
  expect(rows(changes, null).every((r) => r.staged === null)).toBe(true);
});

test('a branch is proposed that is not the one the work is for', () => {
  expect(branchFor('fix', 'main', 'T')).toBe('fix');
  expect(branchFor('release', 'release', 'Fix: the Größe & more!')).toBe('deft/fix-the-gro-e-more');
  expect(branchFor('main', '', '修正')).toBe('deft/work');
  expect(branchFor(null, '', 'a'.repeat(60))).toBe(`deft/${'a'.repeat(40)}`);
});
