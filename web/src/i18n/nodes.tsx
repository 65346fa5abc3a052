import { Fragment, type ReactNode } from 'react';
import { tr } from './text';

// trNodes is tr for a sentence with elements in it: {name} is replaced by the element of
// that name, so that each language has its own order of words.
export function trNodes(english: string, values: Record<string, ReactNode>): ReactNode {
  // Every other part is the name between braces.
  const parts = tr(english).split(/\{(\w+)\}/);
  return parts.map((part, i) => <Fragment key={i}>{i % 2 ? values[part] : part}</Fragment>);
}
