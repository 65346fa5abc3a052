import { useEffect, useRef } from 'react';

// useChanged acts when a value changes, not on its first one.
export function useChanged(value: unknown, act: () => void): void {
  const before = useRef(value);
  useEffect(() => {
    if (Object.is(before.current, value)) return;
    before.current = value;
    act();
  }, [value, act]);
}
