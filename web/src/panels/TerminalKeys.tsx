import { tr } from '../i18n/text';

interface Props {
  ctrl: boolean; // the next key is typed with Ctrl
  onCtrl: () => void;
  onKey: (key: Key) => void;
}

// Key is one that keyboards of phones lack, or a character that is far away on them.
export type Key = 'Escape' | 'Tab' | 'ArrowUp' | 'ArrowDown' | 'ArrowLeft' | 'ArrowRight' | '|' | '/' | '-' | '~';

const keys: { key: Key; label: string; name?: string }[] = [
  { key: 'Escape', label: tr('Esc') },
  { key: 'Tab', label: tr('Tab') },
  { key: 'ArrowUp', label: '↑', name: tr('Up') },
  { key: 'ArrowDown', label: '↓', name: tr('Down') },
  { key: 'ArrowLeft', label: '←', name: tr('Left') },
  { key: 'ArrowRight', label: '→', name: tr('Right') },
  { key: '|', label: '|' },
  { key: '/', label: '/' },
  { key: '-', label: '-' },
  { key: '~', label: '~' },
];

// TerminalKeys are the keys that keyboards of phones do not have. They leave the focus where it
// is, so that the keyboard stays.
export function TerminalKeys({ ctrl, onCtrl, onKey }: Props) {
  return (
    <div className="terminal-keys" role="toolbar" aria-label={tr('Keys')} onPointerDown={(e) => e.preventDefault()}>
      <button className="button" aria-pressed={ctrl} onClick={onCtrl}>
        {tr('Ctrl')}
      </button>
      {keys.map(({ key, label, name }) => (
        <button key={key} className="button" aria-label={name} onClick={() => onKey(key)}>
          {label}
        </button>
      ))}
    </div>
  );
}

const letters = { ArrowUp: 'A', ArrowDown: 'B', ArrowRight: 'C', ArrowLeft: 'D' };

// typed is the text that a terminal sends for a key. Programs of the whole screen have other arrows.
export function typed(key: Key, application: boolean): string {
  if (key === 'Escape') return '\u001b';
  if (key === 'Tab') return '\t';
  if (key in letters) return `\u001b${application ? 'O' : '['}${letters[key as keyof typeof letters]}`;
  return key;
}

// withCtrl is a character as it is typed with Ctrl; others stay.
export function withCtrl(text: string): string {
  return /^[@-_a-z]$/.test(text) ? String.fromCharCode(text.toUpperCase().charCodeAt(0) & 0x1f) : text;
}
