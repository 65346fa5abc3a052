import { Fragment } from 'react';
import { visible } from './visible';

type Props = Record<string, unknown>;

// Attributes that people see or hear.
const attributes = ['title', 'aria-label', 'alt', 'placeholder', 'label'];

// shownProps are the properties of an element as they reach the page, with every text made
// `visible`. A component passes its own on to an element.
export function shownProps(type: unknown, props: unknown): object {
  const given = props as Props;
  if (typeof type !== 'string' && type !== Fragment) return given;
  let all = given;
  const put = (name: string, value: unknown) => {
    if (value !== given[name]) all = { ...all, [name]: value };
  };
  put('children', texts(given.children));
  for (const name of attributes) if (typeof given[name] === 'string') put(name, visible(given[name]));
  return all;
}

// texts are the children of an element; the same ones where nothing changes.
function texts(children: unknown): unknown {
  if (typeof children === 'string') return visible(children);
  if (!Array.isArray(children)) return children;
  const all = children.map(texts);
  return all.every((one, i) => one === children[i]) ? children : all;
}
