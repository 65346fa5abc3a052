import { useEffect, useRef, type RefObject } from 'react';

// useCurrent keeps the current entry of a row in view, which scrolls in a narrow window.
export function useCurrent(current: string | null): RefObject<HTMLElement | null> {
  const row = useRef<HTMLElement>(null);
  useEffect(() => {
    row.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [current]);
  return row;
}
