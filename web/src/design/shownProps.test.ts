import { Fragment } from 'react';
import { expect, test } from 'vitest';
import { shownProps } from './shownProps';

const turned = 'photo\u202egnp.exe';
const shown = 'photo\\u{202e}gnp.exe';

test.each(['title', 'aria-label', 'alt', 'placeholder', 'label', 'children'])('%s of an element is visible', (name) => {
  expect(shownProps('p', { [name]: turned })).toEqual({ [name]: shown });
});

test('so are texts among other children', () => {
  expect(shownProps('p', { children: ['a ', 1, null, ['b', [turned]], false] })).toEqual({ children: ['a ', 1, null, ['b', [shown]], false] });
  expect(shownProps(Fragment, { children: turned })).toEqual({ children: shown });
});

test('a component has its properties as they are, and all values of fields', () => {
  const own = { title: turned, children: turned };
  expect(shownProps(() => null, own)).toBe(own);
  expect(shownProps('input', { value: turned })).toEqual({ value: turned });
});

test('properties without such characters are the same ones', () => {
  const all = { title: 'x', children: ['a', ['b']] };
  expect(shownProps('p', all)).toBe(all);
});
