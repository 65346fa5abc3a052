// The functions that JSX becomes: React's own, but every text is shown by `visible`, so that no
// component has to think of it. Markup that is made as a text does so itself (Markdown, Tables).
import { jsx as make, jsxs as makeAll } from 'react/jsx-runtime';
import { shownProps } from './shownProps';

export { Fragment, type JSX } from 'react/jsx-runtime';

export const jsx: typeof make = (type, props, key) => make(type, shownProps(type, props), key);
export const jsxs: typeof makeAll = (type, props, key) => makeAll(type, shownProps(type, props), key);
