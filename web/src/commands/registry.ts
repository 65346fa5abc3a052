// The commands that a page offers now: the palette lists them, keys run them.
import { useEffect, useSyncExternalStore } from 'react';
import { tr } from '../i18n/text';

export interface Command {
  id: string;
  group: string;
  label: string;
  keys?: string; // as "Ctrl+K"; Ctrl stands for Command on a Mac, too
  run: () => void;
}

let all: Command[] = [];
const listeners = new Set<() => void>();

function change(next: Command[]): void {
  all = next;
  for (const listener of listeners) listener();
}

// useCommands offers commands while the component is there.
export function useCommands(commands: Command[]): void {
  useEffect(() => {
    const ids = new Set(commands.map((c) => c.id));
    change([...all.filter((c) => !ids.has(c.id)), ...commands]);
    return () => change(all.filter((c) => !commands.includes(c)));
  }, [commands]);
}

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

export function useAllCommands(): Command[] {
  return useSyncExternalStore(subscribe, () => all);
}

// keysText is the name of keys as they are called in the user's language.
export function keysText(keys: string): string {
  return keys.replace('Ctrl', tr('Ctrl')).replace('Shift', tr('Shift'));
}

// keyOf is the name of a key with its modifiers, as commands have it.
export function keyOf(e: Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey' | 'shiftKey'>): string {
  const key = e.key.length === 1 ? e.key.toUpperCase() : e.key;
  const letter = /^[A-Z]$/.test(key);
  return [(e.ctrlKey || e.metaKey) && 'Ctrl', e.altKey && 'Alt', e.shiftKey && (letter || e.key.length > 1) && 'Shift', key].filter(Boolean).join('+');
}

// listen runs the command of a key. All have Ctrl: a letter that misses its text box does
// nothing.
export function listen(): () => void {
  const onKey = (e: KeyboardEvent) => {
    if (e.defaultPrevented || e.repeat) return;
    const key = keyOf(e);
    const found = all.find((c) => c.keys === key);
    if (!found) return;
    e.preventDefault();
    found.run();
  };
  window.addEventListener('keydown', onKey);
  return () => window.removeEventListener('keydown', onKey);
}
