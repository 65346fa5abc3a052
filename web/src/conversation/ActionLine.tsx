import { memo } from 'react';
import { Ansi } from '../design/Ansi';
import { duration } from '../design/format';
import { Icon } from '../design/Icon';
import { visible } from '../design/visible';
import { loaded } from '../design/loaded';
import { plain, textOf, type ObservationData } from '../events/event';
import type { ActionItem, Outcome, ResultItem } from '../events/item';
import { picturesOf } from '../events/pictures';
import { actionText, argumentsText, editOf, lineCounts, ownSummary, riskText } from './actionText';
import { CommandOutput } from './CommandOutput';
import { exitCode, hasFailed } from './outcome';
import { Output } from './Output';
import { Plan } from './Plan';
import { tr } from '../i18n/text';

const DiffView = loaded(
  () => import('../panels/DiffView'),
  () => <p className="hint">{tr('Comparing …')}</p>,
);

interface Props {
  item: ActionItem;
  directory: string;
  open: boolean;
  waiting: boolean; // for the user's decision
  onToggle: (id: string, open: boolean) => void;
}

// ActionLine is one line for an action, which opens to all of it.
export const ActionLine = memo(function ActionLine({ item, directory, open, waiting, onToggle }: Props) {
  const { icon, verb, subject } = actionText(item.action, directory);
  const outcome = item.outcome;
  const observation = outcome?.state === 'done' ? outcome.observation : null;
  const edit = editOf(item.action, observation);
  const counts = edit && lineCounts(edit);
  const failed = hasFailed(outcome);
  return (
    <div className={`action${failed ? ' failed' : ''}${outcome?.state === 'rejected' ? ' rejected' : ''}`}>
      <button className="action-line" aria-expanded={open} onClick={() => onToggle(item.id, !open)}>
        <span className="action-icon">
          <Icon name={icon} size={14} />
        </span>
        <span className="action-verb">{verb}</span>
        <code className="action-subject">{subject}</code>
        {(item.risk === 'HIGH' || item.risk === 'MEDIUM') && <span className={`risk ${item.risk}`}>{riskText(item.risk)}</span>}
        {counts && !failed && (
          <span className="counts number">
            {counts.added > 0 && <ins>+{counts.added}</ins>} {counts.removed > 0 && <del>−{counts.removed}</del>}
          </span>
        )}
        <State item={item} outcome={outcome} waiting={waiting} failed={failed} />
        <span className="action-chevron">
          <Icon name="chevron" size={12} />
        </span>
      </button>
      {open && <Details item={item} waiting={waiting} />}
    </div>
  );
});

function State({ item, outcome, waiting, failed }: { item: ActionItem; outcome: Outcome | null; waiting: boolean; failed: boolean }) {
  if (!outcome) {
    return waiting ? (
      <span className="state warn">{tr('waits for you')}</span>
    ) : (
      <span className="state">
        <span className="dot running" aria-hidden="true" />
        <span className="visually-hidden">{tr('running')}</span>
      </span>
    );
  }
  if (outcome.state === 'rejected') return <span className="state">{tr('rejected')}</span>;
  const code = exitCode(outcome);
  const time = duration(item.time, outcome.time);
  return (
    <span className={failed ? 'state bad' : 'state'}>
      {code > 0 ? tr('exit {code}', { code }) : failed ? tr('failed') : time}
      {!failed && !time && <span className="visually-hidden">{tr('done')}</span>}
    </span>
  );
}

function Details({ item, waiting }: { item: ActionItem; waiting: boolean }) {
  const { action, outcome } = item;
  const observation = outcome?.state === 'done' ? outcome.observation : null;
  const edit = editOf(action, observation);
  const summary = ownSummary(action);
  const a = action.action;
  let body;
  if (a?.kind === 'TerminalAction') {
    body = (
      <>
        <pre className="code command">
          <span aria-hidden="true">$ </span>
          {visible(plain(a.command))}
        </pre>
        <CommandOutput action={item.id} running={!outcome && !waiting} result={observation && textOf(observation.content)} />
      </>
    );
  } else if (edit) {
    body = (
      <>
        <DiffView before={edit.before} after={edit.after} path={edit.path} split={false} />
        {observation?.is_error && <Output text={textOf(observation.content)} />}
      </>
    );
  } else if (a?.kind === 'TaskTrackerAction' && Array.isArray(a.task_list) && a.task_list.length > 0) {
    body = <Plan tasks={a.task_list as never} />;
  } else {
    body = (
      <>
        <pre className="code">{argumentsText(action)}</pre>
        {observation && <Output text={textOf(observation.content)} />}
        {observation && <Pictures observation={observation} />}
      </>
    );
  }
  return (
    <div className="action-details">
      {item.reasoning && <p className="reasoning-text">{item.reasoning}</p>}
      {summary && <p className="hint">{summary}</p>}
      {body}
      {outcome?.state === 'failed' && <p className="banner bad">{outcome.error}</p>}
      {outcome?.state === 'rejected' && (
        <p className="banner warn">
          {outcome.by === 'hook' ? tr('A hook rejected this') : tr('You rejected this')}: {outcome.reason}
        </p>
      )}
    </div>
  );
}

function Pictures({ observation }: { observation: ObservationData }) {
  return picturesOf(observation).map((url, i) => <img key={i} className="picture" src={url} alt={tr('Picture {n} of the result', { n: i + 1 })} />);
}

// ResultLine is a result whose action is not loaded.
export function ResultLine({ item, open, onToggle }: { item: ResultItem; open: boolean; onToggle: (id: string, open: boolean) => void }) {
  const { outcome } = item;
  const text = outcome.state === 'done' ? textOf(outcome.observation.content) : outcome.state === 'failed' ? outcome.error : outcome.reason;
  return (
    <div className={`action${outcome.state === 'failed' ? ' failed' : ''}`}>
      <button className="action-line" aria-expanded={open} onClick={() => onToggle(item.id, !open)}>
        <span className="action-icon">
          <Icon name="tool" size={14} />
        </span>
        <span className="action-verb">{tr('Result of {tool}', { tool: item.tool })}</span>
        <code className="action-subject">
          <Ansi text={text.slice(0, 200).replace(/\s+/g, ' ')} />
        </code>
        <span className="action-chevron">
          <Icon name="chevron" size={12} />
        </span>
      </button>
      {open && (
        <div className="action-details">
          <Output text={text} />
        </div>
      )}
    </div>
  );
}
