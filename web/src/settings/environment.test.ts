import { expect, it } from 'vitest';
import { variables } from './environment';

it.each([
  ['', {}, null],
  ['A=1\r\n\n  B_2= x=y  ', { A: '1', B_2: ' x=y  ' }, null],
  ['A=1\nexport B=2', {}, 'export B=2'],
  ['just a word', {}, 'just a word'],
  ['C=', {}, 'C='],
  ['1A=x', {}, '1A=x'],
  ['A=1\nA=2', { A: '2' }, null],
])('variables of %j', (text, env, wrong) => expect(variables(text)).toEqual({ env, wrong }));
