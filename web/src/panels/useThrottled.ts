import { useEffect, useRef, useState } from 'react';

// useThrottled follows a value, with a change at most every so many milliseconds: the
// panels ask the server again while many events arrive.
export function useThrottled<T>(value: T, ms: number): T {
  const [shown, setShown] = useState(value);
  const changed = useRef(0);
  useEffect(() => {
    const wait = Math.max(0, changed.current + ms - Date.now());
    const timer = setTimeout(() => {
      changed.current = Date.now();
      setShown(value);
    }, wait);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return shown;
}
