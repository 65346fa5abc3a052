import { memo, useRef } from 'react';
import { announce, copy, outcomeText } from '../design/copy';
import { Copy } from '../design/Copyable';
import { FoundContext, useFound } from '../design/found';
import { Icon } from '../design/Icon';
import { Menu } from '../design/Menu';
import { eventOf, type Item } from '../events/item';
import type { Readable } from '../events/store';
import { isTask } from '../events/tasks';
import { useView } from '../events/useView';
import { ActionLine, ResultLine } from './ActionLine';
import type { Branching } from './branching';
import { GroupLine } from './GroupLine';
import { together, type Row as StoredRow, type TailRow } from './groups';
import { ErrorBlock, Message, Note } from './Rows';
import { TaskLine } from './TaskLine';
import { isFold, type Rows } from './useRows';
import type { Target } from './useTarget';
import { Thinking, Writing } from './Writing';
import { tr } from '../i18n/text';

type AnyRow = StoredRow | TailRow;

// keyOf is the same for the text of an answer while it is written and when it is stored.
export const keyOf = (row: AnyRow): string => (row.type === 'message' && row.from === 'agent' ? `${eventOf(row)}:text` : row.id);

interface Props {
  view: Rows;
  rows: AnyRow[]; // that are drawn
  at: number; // the place of this one
  store: Readable;
  address: string; // path of the conversation's page
  last: boolean; // no other row is behind it
  target: Target | null; // that it is, of a link or a search
  onBranch: Branching | null;
  onRetry: (() => void) | null;
}

// TimelineRow is a row of a conversation, whether it has the page or is a thread in another one.
export function TimelineRow({ view, rows, at, store, address, last, target, onBranch, onRetry }: Props) {
  const item = rows[at] as AnyRow;
  const directory = useView(store, (v) => v.timeline.directory);
  const waiting = useView(store, (v) => v.timeline.status === 'waiting_for_confirmation');
  const working = useView(store, (v) => v.timeline.status === 'running');
  const allowed = useView(store, (v) => v.timeline.allowed.includes(item.id));
  const ended = useView(store, (v) => v.timeline.status === 'error' || v.timeline.status === 'stuck');
  const row = useRef<HTMLDivElement>(null);
  const found = target?.text ?? '';
  useFound(row, found);
  if (item.type === 'thinking') return <Thinking store={store} />;
  if (item.type === 'writing') return <Writing row={item} store={store} directory={directory} folded={view.isOpen(item.id)} onToggle={view.onToggle} />;
  if (item.type === 'group') {
    return (
      <div className="timeline-row group">
        <GroupLine group={item} onFold={view.onFold} />
      </div>
    );
  }
  const place = together(rows, at);
  return (
    <div ref={row} className={['timeline-row', item.type, target && 'target', view.gone.has(eventOf(item)) && 'undone', place && `together ${place}`].filter(Boolean).join(' ')}>
      {place === 'first' && <span className="visually-hidden">{tr('The agent asked for these at once:')}</span>}
      {isFold(item) || (item.type === 'message' && item.draft) || <RowMenu item={item} address={address} onBranch={onBranch} />}
      <FoundContext value={found}>
        <Row item={item} store={store} directory={directory} open={view.isOpen(item.id)} waiting={waiting} allowed={allowed} working={working} last={last} onToggle={view.onToggle} onRetry={ended ? onRetry : null} />
      </FoundContext>
    </div>
  );
}

interface RowProps {
  item: Item;
  store: Readable;
  directory: string;
  open: boolean;
  waiting: boolean;
  allowed: boolean;
  working: boolean;
  last: boolean;
  onToggle: (id: string, open: boolean) => void;
  onRetry: (() => void) | null;
}

function Row({ item, store, directory, open, waiting, allowed, working, last, onToggle, onRetry }: RowProps) {
  switch (item.type) {
    case 'message':
      return <Message item={item} store={store} open={open} onToggle={onToggle} />;
    case 'action':
      if (isTask(item)) return <TaskLine item={item} open={open} waiting={waiting} allowed={allowed} working={working} onToggle={onToggle} />;
      return <ActionLine item={item} directory={directory} open={open} waiting={waiting} allowed={allowed} onToggle={onToggle} />;
    case 'result':
      return <ResultLine item={item} open={open} onToggle={onToggle} />;
    case 'error':
      return <ErrorBlock item={item} last={last} onRetry={onRetry} />;
    case 'note':
      return <Note item={item} open={open} onToggle={onToggle} />;
  }
}

// RowMenu appears beside a row that is pointed at or has the focus.
const RowMenu = memo(function RowMenu({ item, address, onBranch }: { item: Item } & Pick<Props, 'address' | 'onBranch'>) {
  const event = eventOf(item);
  const link = () => void copy(`${window.location.origin}${address}?event=${encodeURIComponent(item.id)}`).then((copied) => announce(outcomeText(copied)));
  return (
    <span className="row-menu">
      {item.type === 'message' && <Copy icon className="icon-button" label={tr('Copy the message')} text={() => item.text} />}
      <Menu
        label={tr('Actions of this event')}
        items={[
          ...(onBranch
            ? [
                ...(item.type === 'message' && item.from === 'user' ? [{ label: tr('Edit and send again …'), run: () => onBranch.edit(item) }] : []),
                { label: tr('Fork from here …'), run: () => onBranch.from('fork', event) },
                { label: tr('Rewind to here …'), run: () => onBranch.from('rewind', event) },
              ]
            : []),
          { label: tr('Copy a link'), run: link },
        ]}
      >
        <Icon name="more" size={14} />
      </Menu>
    </span>
  );
});
