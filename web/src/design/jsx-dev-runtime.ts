// jsx-runtime for `npm run dev` and tests, where React is told more of each element.
import { jsxDEV as make } from 'react/jsx-dev-runtime';
import { shownProps } from './shownProps';

export { Fragment, type JSX } from 'react/jsx-dev-runtime';

export const jsxDEV: typeof make = (type, props, ...rest) => make(type, shownProps(type, props), ...rest);
