import { useDeferredValue } from 'react';
import { bytes } from '../design/format';
import { Icon } from '../design/Icon';
import { longText, type WrittenCall } from '../events/answer';
import type { ActionEvent } from '../api/event';
import type { Readable } from '../events/store';
import { useView } from '../events/useView';
import { actionText } from './actionText';
import { Growing } from './CommandOutput';
import { retryText } from './retryText';
import type { WritingRow } from './groups';
import { tr } from '../i18n/text';

// Thinking says that the model is at work, and has written nothing yet.
export function Thinking({ store }: { store: Readable }) {
  const retry = useView(store, (v) => v.timeline.retry);
  return (
    <div className="timeline-row">
      <p className="note working" role="status">
        <span className="dot running" aria-hidden="true" />{' '}
        {retry ? retryText(retry) : tr('Thinking …')}
      </p>
    </div>
  );
}

interface Props {
  row: WritingRow;
  store: Readable;
  directory: string;
  folded: boolean;
  onToggle: (id: string, open: boolean) => void;
}

// Writing is a call of a tool while the model writes it: its name, its size, and its text as it
// comes.
export function Writing({ row, store, directory, folded, onToggle }: Props) {
  const newest = useView(store, (v) => v.timeline.draft?.calls[row.call]);
  const call = useDeferredValue(newest) ?? newest;
  if (!call) return null;
  const { icon, verb, subject } = actionText(actionOf(call), directory);
  const text = longText(call);
  return (
    <div className="timeline-row action">
      <div className="action writing">
        <button className="action-line" aria-expanded={!folded} onClick={() => onToggle(row.id, !folded)}>
          <span className="action-icon">
            <Icon name={icon} size={14} />
          </span>
          <span className="action-verb">{verb}</span>
          <code className="action-subject">{subject}</code>
          <span className="state">
            <span className="dot running" aria-hidden="true" /> {tr('is being written')}
            {call.size > 0 && <span className="number"> · {bytes(call.size)}</span>}
          </span>
          <span className="action-chevron">
            <Icon name="chevron" size={12} />
          </span>
        </button>
        {!folded && text && (
          <div className="action-details">
            <Growing text={text} cut={false} label={tr('Text so far')} hint={tr('The end of what the model has written so far.')} />
          </div>
        )}
      </div>
    </div>
  );
}

// actionOf is the call in the form of the event that it becomes.
function actionOf({ tool, fields }: WrittenCall): ActionEvent {
  const kind = `${tool.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())}Action`;
  return { kind: 'ActionEvent', id: '', timestamp: '', source: 'agent', tool_name: tool, tool_call_id: '', action: { ...fields, kind } };
}
