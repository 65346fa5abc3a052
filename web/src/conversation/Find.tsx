import { useEffect, useRef, useState } from 'react';
import { textOf } from '../events/event';
import { Icon } from '../design/Icon';
import type { Item } from '../events/item';
import type { EventStore } from '../events/store';
import { useView } from '../events/useView';
import { tr } from '../i18n/text';

interface Props {
  store: EventStore;
  onOlder: () => void;
  onGoto: (id: string) => void;
  onClose: () => void;
}

// Find searches the loaded part of a conversation, newest first.
export function Find({ store, onOlder, onGoto, onClose }: Props) {
  const items = useView(store, (v) => v.timeline.items);
  const older = useView(store, (v) => v.older);
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const box = useRef<HTMLInputElement>(null);
  const wanted = text.trim().toLowerCase();
  const found = wanted ? items.filter((i) => textIn(i).toLowerCase().includes(wanted)).toReversed() : [];
  const chosen = found[Math.min(at, found.length - 1)];
  useEffect(() => box.current?.focus(), []);
  useEffect(() => {
    if (chosen) onGoto(chosen.id);
  }, [chosen, onGoto]);
  const move = (step: number) => found.length > 0 && setAt((Math.min(at, found.length - 1) + step + found.length) % found.length);
  return (
    <search className="find">
      <input
        ref={box}
        className="input"
        type="search"
        aria-label={tr('Search in the conversation')}
        placeholder={tr('Search in the conversation')}
        value={text}
        onChange={(e) => {
          setText(e.target.value);
          setAt(0);
        }}
        onKeyDown={(e) => {
          if (e.key === 'Escape') onClose();
          else if (e.key === 'Enter') move(e.shiftKey ? -1 : 1);
          else return;
          e.preventDefault();
        }}
      />
      <span className="hint number" role="status">
        {wanted && tr('{at} of {n}', { at: found.length === 0 ? 0 : Math.min(at, found.length - 1) + 1, n: found.length })}
      </span>
      {older !== 'none' && (
        <button className="button quiet" disabled={older === 'loading'} onClick={onOlder}>
          {tr('Load earlier')}
        </button>
      )}
      <button className="icon-button" aria-label={tr('Close the search')} onClick={onClose}>
        <Icon name="close" size={14} />
      </button>
    </search>
  );
}

function textIn(item: Item): string {
  switch (item.type) {
    case 'message':
      return `${item.text}\n${item.reasoning}`;
    case 'action':
      return `${JSON.stringify(item.action.action ?? '')}\n${item.outcome?.state === 'done' ? textOf(item.outcome.observation.content) : ''}`;
    case 'result':
      return item.outcome.state === 'done' ? textOf(item.outcome.observation.content) : '';
    case 'error':
      return `${item.code} ${item.detail}`;
    case 'note':
      return `${item.text} ${item.detail}`;
  }
}
