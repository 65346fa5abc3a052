import { useQuery } from '@tanstack/react-query';
import { useEffect, useId, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { titledQuery } from '../api/conversations';
import { statusText } from '../design/format';
import { keysText, useAllCommands, type Command } from './registry';
import { tr } from '../i18n/text';
import './palette.css';

// Palette finds and runs commands, and opens conversations by their titles.
export function Palette({ onClose }: { onClose: () => void }) {
  const commands = useAllCommands();
  const [, navigate] = useLocation();
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const conversations = useQuery(titledQuery(text));
  useEffect(() => dialog.current?.showModal(), []);

  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = (label: string) => words.every((w) => label.toLowerCase().includes(w));
  const found: Command[] = [
    ...commands.filter((c) => matches(`${c.group} ${c.label}`)),
    ...(conversations.data?.items ?? [])
      .filter((c) => matches(c.title))
      .slice(0, 12)
      .map((c) => ({ id: c.id, group: tr('Conversation'), label: c.title, keys: statusText(c.status), run: () => navigate(`/conversations/${c.id}`) })),
  ];
  const chosen = Math.min(at, found.length - 1);
  const run = (command: Command | undefined) => {
    if (!command) return;
    onClose();
    command.run();
  };

  useEffect(() => {
    dialog.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' });
  }, [chosen]);

  return (
    <dialog ref={dialog} className="palette" aria-label={tr('Commands')} onClose={onClose} onClick={(e) => e.target === dialog.current && onClose()}>
      <input
        className="palette-input"
        role="combobox"
        aria-expanded="true"
        aria-controls={id}
        aria-activedescendant={found[chosen] ? `${id}-${chosen}` : undefined}
        aria-label={tr('Find a command or a conversation')}
        placeholder={tr('Find a command or a conversation')}
        autoFocus
        value={text}
        onChange={(e) => {
          setText(e.target.value);
          setAt(0);
        }}
        onKeyDown={(e) => {
          if (e.key === 'ArrowDown') setAt(Math.min(chosen + 1, found.length - 1));
          else if (e.key === 'ArrowUp') setAt(Math.max(chosen - 1, 0));
          else if (e.key === 'Enter') run(found[chosen]);
          else return;
          e.preventDefault();
        }}
      />
      <ul id={id} role="listbox" aria-label={tr('Commands and conversations')}>
        {found.map((c, i) => (
          <li key={c.id} id={`${id}-${i}`} role="option" aria-selected={i === chosen} onClick={() => run(c)} onMouseMove={() => setAt(i)}>
            <span className="palette-group">{c.group}</span>
            <span className="grow ellipsis">{c.label}</span>
            {c.keys && <span className="hint">{keysText(c.keys)}</span>}
          </li>
        ))}
      </ul>
      {found.length === 0 && <p className="hint palette-none">{tr('Nothing has this name.')}</p>}
    </dialog>
  );
}
