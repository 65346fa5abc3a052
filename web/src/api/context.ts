import { createContext, useContext } from 'react';
import type { Source } from './source';

export const SourceContext = createContext<Source | null>(null);

// useSource returns the server of this page.
export function useSource(): Source {
  const source = useContext(SourceContext);
  if (!source) throw new Error('no source above this component');
  return source;
}
