import { expect, test } from 'vitest';
// @ts-expect-error -- a script of the build
import { eager } from './eager.mjs';

const long = `return "${'x'.repeat(1000)}";`;

test.each([
  ['an arrow function', `var a=t((e,n)=>{${long}});a()`, `var a=t((function(e,n){${long}}));a()`],
  ['one of one argument', `var a=t(e=>{${long}})`, `var a=t((function(e){${long}}))`],
  ['a function', `t(function(e){${long}})`, `t((function(e){${long}}))`],
  ['a small one', 't(e=>{e()})', 't(e=>{e()})'],
  ['one in another function', `function b(){t(e=>{${long}})}`, `function b(){t(e=>{${long}})}`],
])('of functions that are passed on, V8 compiles large ones at once: %s', (_, code, want) => {
  expect(eager(code)).toBe(want);
});
