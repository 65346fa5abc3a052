import { describe, expect, it } from 'vitest';
import { compare, pairs } from './hunks';

describe('compare', () => {
  it('finds added and removed lines with their numbers', () => {
    expect(compare('a\nb\nc\n', 'a\nx\ny\nc\n')).toEqual([
      {
        lines: [
          { kind: 'same', text: 'a', before: 1, after: 1 },
          { kind: 'removed', text: 'b', before: 2, after: null },
          { kind: 'added', text: 'x', before: null, after: 2 },
          { kind: 'added', text: 'y', before: null, after: 3 },
          { kind: 'same', text: 'c', before: 3, after: 4 },
        ],
      },
    ]);
  });

  it('leaves far lines out', () => {
    const before = Array.from({ length: 100 }, (_, i) => `line ${i}`);
    const after = before.with(2, 'x').with(90, 'y');
    expect(compare(before.join('\n'), after.join('\n'))).toHaveLength(2);
  });

  it('does not mind a missing line end', () => {
    expect(compare('a\n', 'a')).toEqual([]);
  });

  it('gives up on large texts', () => {
    expect(compare('a'.repeat(1_000_001), '')).toBeNull();
  });
});

describe('pairs', () => {
  it('puts changes beside each other', () => {
    const [hunk] = compare('a\nb\nc\n', 'a\nx\ny\nc\n') ?? [];
    expect(hunk && pairs(hunk).map(([l, r]) => [l?.text, r?.text])).toEqual([
      ['a', 'a'],
      ['b', 'x'],
      [undefined, 'y'],
      ['c', 'c'],
    ]);
  });
});
