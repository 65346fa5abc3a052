import { expect, it } from 'vitest';
import type { PromptOffer } from '../api/prompts';
import { matching, namedBy, usage, withCommand, wordAt } from './promptCommand';

const offer = (command: string, ...names: string[]): PromptOffer => ({
  command,
  server: 's',
  description: '',
  arguments: names.map((name) => ({ name: name.replace('?', ''), description: '', required: !name.endsWith('?') })),
});
const offers = [offer('/notes:plan'), offer('/tracker:plan', 'page', 'about?'), offer('/tracker:Review')];

it.each([
  ['/', 1, { from: 0, to: 1, written: '/' }],
  ['/tra', 3, { from: 0, to: 4, written: '/tr' }],
  ['\n /tra more', 6, { from: 2, to: 6, written: '/tra' }],
  ['/tra', 0, null],
  ['/tra more', 6, null],
  ['see /tra', 8, null],
  ['', 0, null],
])('finds the word of %j at %i', (text, caret, want) => {
  expect(wordAt(text, caret)).toEqual(want);
});

it.each([
  ['/', ['/notes:plan', '/tracker:plan', '/tracker:Review']],
  ['/tra', ['/tracker:plan', '/tracker:Review']],
  ['/PLAN', ['/notes:plan', '/tracker:plan']],
  ['/re', ['/tracker:Review']],
  ['/usr/bin', []],
])('matches %s', (written, want) => {
  expect(matching(offers, written).map((o) => o.command)).toEqual(want);
});

it('puts the prompts first that begin with the word', () => {
  expect(matching([offer('/my-plan:x'), offer('/plan:y')], '/plan').map((o) => o.command)).toEqual(['/plan:y', '/my-plan:x']);
});

it.each([
  ['/tra', 2, '/tracker:plan ', 14],
  ['/tra the page', 4, '/tracker:plan the page', 14],
  [' /tra\nthe page', 3, ' /tracker:plan \nthe page', 15],
])('replaces the word of %j', (text, caret, want, after) => {
  const word = wordAt(text, caret);
  expect(word && withCommand(text, word, '/tracker:plan')).toEqual({ text: want, caret: after });
});

it('shows how the arguments are written, and which prompt a message names', () => {
  expect(offers.map(usage)).toEqual(['', 'PAGE [ABOUT]', '']);
  expect(namedBy(offers, '\n/tracker:plan\nlogin')?.command).toBe('/tracker:plan');
  expect(namedBy(offers, '/tracker:plans')).toBeUndefined();
  expect(namedBy(offers, 'a /tracker:plan')).toBeUndefined();
});
