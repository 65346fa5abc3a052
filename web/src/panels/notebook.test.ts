import { expect, test } from 'vitest';
import { readNotebook } from './notebook';

const notebook = (...cells: unknown[]) => JSON.stringify({ nbformat: 4, nbformat_minor: 5, metadata: { language_info: { name: 'python' } }, cells });

test('cells and their outputs are read', () => {
  const read = readNotebook(
    notebook(
      { cell_type: 'markdown', source: ['# One\n', 'two'] },
      {
        cell_type: 'code',
        execution_count: 3,
        source: 'print(1)',
        outputs: [
          { output_type: 'stream', name: 'stdout', text: ['1\n', '2\n'] },
          { output_type: 'display_data', data: { 'image/png': 'aGVs\nbG8=', 'text/plain': 'figure' } },
          { output_type: 'execute_result', data: { 'text/html': '<script>alert(1)</script>', 'text/plain': 'a table' } },
          { output_type: 'execute_result', data: { 'text/html': ['<table>', '<tr><td>1</td></tr></table>'], 'text/plain': '1' } },
          { output_type: 'display_data', data: { 'text/markdown': ['| a |\n', '|---|\n', '| 1 |'], 'text/plain': '<IPython.core.display.Markdown object>' } },
          { output_type: 'error', ename: 'E', evalue: 'v', traceback: ['\u001b[31mE\u001b[0m', 'v'] },
        ],
      },
    ),
  );
  expect(read?.language).toBe('python');
  expect(read?.cells).toEqual([
    { kind: 'markdown', source: '# One\ntwo', count: null, outputs: [] },
    {
      kind: 'code',
      source: 'print(1)',
      count: 3,
      outputs: [
        { kind: 'text', text: '1\n2\n', error: false },
        { kind: 'image', source: 'data:image/png;base64,aGVsbG8=' },
        { kind: 'text', text: 'a table', error: false },
        { kind: 'tables', html: '<table><tr><td>1</td></tr></table>' },
        { kind: 'markdown', text: '| a |\n|---|\n| 1 |' },
        { kind: 'text', text: '\u001b[31mE\u001b[0m\nv', error: true },
      ],
    },
  ]);
});

test('what is hostile or wrong in a notebook has no effect', () => {
  expect(readNotebook('{')).toBeNull();
  expect(readNotebook('null')).toBeNull();
  expect(readNotebook('{"nbformat": 3, "cells": []}')).toBeNull();
  expect(readNotebook('{"nbformat": 4, "cells": {}}')).toBeNull();
  const hostile = readNotebook(
    notebook({
      cell_type: 'code',
      source: { toString: 'x' },
      execution_count: 'x',
      outputs: [null, 7, { output_type: 'display_data', data: { 'image/png': '"><script>' } }, { output_type: 'display_data', data: { 'text/html': '<b>' } }],
    }),
  );
  expect(hostile?.cells[0]).toEqual({
    kind: 'code',
    source: '',
    count: null,
    outputs: [
      { kind: 'omitted', type: 'unknown' },
      { kind: 'omitted', type: 'unknown' },
      { kind: 'omitted', type: 'image/png' },
      { kind: 'omitted', type: 'text/html' },
    ],
  });
});
