import { useEffect, useRef, type DependencyList } from 'react';

// useChanged does something when a value has changed, not for its first one. `act` must not
// depend on other values.
export function useChanged(act: () => void, values: DependencyList): void {
  const before = useRef(values);
  useEffect(() => {
    if (before.current.every((value, i) => Object.is(value, values[i]))) return;
    before.current = values;
    act();
  }, values);
}
