import { useMemo } from 'react';
import { hasMessage, writtenCalls } from '../events/answer';
import type { Readable, View } from '../events/store';
import { useView } from '../events/useView';
import type { Row, TailRow } from './groups';

// useTail are the rows behind the last event: of the unfinished answer, or of a model at work.
// They change when the draft has other parts, and not with each word.
export function useTail(store: Readable): (Row | TailRow)[] {
  const shape = useView(store, shapeOf);
  return useMemo(() => rowsOf(shape), [shape]);
}

const thinking = 'thinking';

// shapeOf names the rows: nothing, `thinking`, or the draft's event, whether it has a message,
// and its calls. They are behind the newest event only.
function shapeOf({ timeline, shown }: View): string {
  if (shown !== timeline) return '';
  const { draft } = timeline;
  if (draft) {
    const message = hasMessage(draft);
    const calls = writtenCalls(draft);
    if (message || calls.length > 0) return [draft.item, message ? 'message' : '', ...calls].join(' ');
  }
  if (timeline.status !== 'running') return '';
  // Messages of the user may have come while an action runs.
  const last = timeline.items.findLast((item) => !(item.type === 'message' && item.from === 'user'));
  return last?.type === 'action' && last.outcome === null ? '' : thinking;
}

function rowsOf(shape: string): (Row | TailRow)[] {
  if (shape === '') return [];
  if (shape === thinking) return [{ type: 'thinking', id: thinking }];
  const [item = '', message, ...calls] = shape.split(' ');
  const rows: (Row | TailRow)[] = calls.map((call) => ({ type: 'writing', id: `${item}:call:${call}`, call: Number(call) }));
  if (message) rows.unshift({ type: 'message', id: item, time: '', from: 'agent', text: '', images: [], reasoning: '', draft: true });
  return rows;
}
