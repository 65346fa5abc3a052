import { memo, useDeferredValue } from 'react';
import { Icon } from '../design/Icon';
import { GrowingMarkdown } from '../design/Markdown';
import { Menu } from '../design/Menu';
import { eventOf, type Item } from '../events/item';
import type { Readable, View } from '../events/store';
import { isTask } from '../events/tasks';
import { useView } from '../events/useView';
import { ActionLine, ResultLine } from './ActionLine';
import type { Branching } from './branching';
import { GroupLine } from './GroupLine';
import { together, type Row as AnyRow } from './groups';
import { ErrorBlock, Message, Note, Reasoning } from './Rows';
import { TaskLine } from './TaskLine';
import { isFold, type Rows } from './useRows';
import { tr } from '../i18n/text';

interface Props {
  view: Rows;
  rows: AnyRow[]; // that are drawn
  at: number; // the place of this one
  store: Readable;
  address: string; // path of the conversation's page
  last: boolean; // no other row is behind it
  target: boolean; // a link leads to it
  onBranch: Branching | null;
  onRetry: (() => void) | null;
}

// TimelineRow is a row of a conversation, whether it has the page or is a thread in another one.
export function TimelineRow({ view, rows, at, store, address, last, target, onBranch, onRetry }: Props) {
  const directory = useView(store, (v) => v.timeline.directory);
  const waiting = useView(store, (v) => v.timeline.status === 'waiting_for_confirmation');
  const working = useView(store, (v) => v.timeline.status === 'running');
  const ended = useView(store, (v) => v.timeline.status === 'error' || v.timeline.status === 'stuck');
  const item = rows[at] as AnyRow;
  if (item.type === 'group') {
    return (
      <div className="timeline-row group">
        <GroupLine group={item} onFold={view.onFold} />
      </div>
    );
  }
  const place = together(rows, at);
  return (
    <div className={['timeline-row', item.type, target && 'target', view.gone.has(eventOf(item)) && 'undone', place && `together ${place}`].filter(Boolean).join(' ')}>
      {place === 'first' && <span className="visually-hidden">{tr('The agent asked for these at once:')}</span>}
      {isFold(item) || <RowMenu item={item} address={address} onBranch={onBranch} />}
      <Row item={item} directory={directory} open={view.isOpen(item.id)} waiting={waiting} working={working} last={last} onToggle={view.onToggle} onRetry={ended ? onRetry : null} />
    </div>
  );
}

interface RowProps {
  item: Item;
  directory: string;
  open: boolean;
  waiting: boolean;
  working: boolean;
  last: boolean;
  onToggle: (id: string, open: boolean) => void;
  onRetry: (() => void) | null;
}

function Row({ item, directory, open, waiting, working, last, onToggle, onRetry }: RowProps) {
  switch (item.type) {
    case 'message':
      return <Message item={item} open={open} onToggle={onToggle} />;
    case 'action':
      if (isTask(item)) return <TaskLine item={item} open={open} waiting={waiting} working={working} onToggle={onToggle} />;
      return <ActionLine item={item} directory={directory} open={open} waiting={waiting} onToggle={onToggle} />;
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
  const link = () => void navigator.clipboard.writeText(`${window.location.origin}${address}?event=${encodeURIComponent(item.id)}`);
  return (
    <span className="row-menu">
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
          ...(item.type === 'message' ? [{ label: tr('Copy the text'), run: () => void navigator.clipboard.writeText(item.text) }] : []),
        ]}
      >
        <Icon name="more" size={14} />
      </Menu>
    </span>
  );
});

interface TailProps {
  store: Readable;
  reasoning: boolean;
  onToggle: (id: string, open: boolean) => void;
}

// Tail shows the unfinished answer of the model, or that it is at work. Keys of the user come first.
export function Tail({ store, reasoning, onToggle }: TailProps) {
  const newest = useView(store, (v) => v.timeline.draft);
  const deferred = useDeferredValue(newest);
  const draft = newest && deferred; // a stored answer is not shown twice
  const retry = useView(store, (v) => v.timeline.retry);
  return (
    <div className="timeline-row">
      {draft ? (
        <div className="message agent draft">
          {draft.reasoning && <Reasoning id="draft" text={draft.reasoning} open={reasoning || !draft.text} onToggle={onToggle} />}
          {draft.text && <GrowingMarkdown text={draft.text} />}
        </div>
      ) : (
        <p className="note working" role="status">
          <span className="dot running" aria-hidden="true" />{' '}
          {retry ? tr('The model did not answer. Attempt {n} of {all}: {detail}', { n: retry.attempt + 1, all: retry.attempts, detail: retry.detail }) : tr('Thinking …')}
        </p>
      )}
    </div>
  );
}

// tailOf reports whether a row behind the last event is shown: an unfinished answer, or that
// the model is at work.
export function tailOf({ timeline }: View): boolean {
  if (timeline.draft) return true;
  if (timeline.status !== 'running') return false;
  // Messages of the user may have come while an action runs.
  const last = timeline.items.findLast((item) => !(item.type === 'message' && item.from === 'user'));
  return !(last?.type === 'action' && last.outcome === null);
}
