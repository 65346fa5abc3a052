import { Fragment, memo } from 'react';
import { Ansi } from '../design/Ansi';
import { Copyable } from '../design/Copyable';
import { duration } from '../design/format';
import { Icon } from '../design/Icon';
import { loaded } from '../design/loaded';
import { Markdown } from '../design/Markdown';
import { Tables } from '../design/Tables';
import { plain, textOf, type ObservationData } from '../api/event';
import { ran, type ActionItem, type Outcome, type ResultItem } from '../events/item';
import { resultText } from '../events/json';
import { picturesOf } from '../events/pictures';
import { actionText, argumentList, editsOf, lineCounts, ownSummary, riskText } from './actionText';
import { CommandOutput } from './CommandOutput';
import { exitCode, hasFailed } from './outcome';
import { Output } from './Output';
import { Plan } from '../panels/Plan';
import { Code } from '../syntax/Code';
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
  allowed: boolean; // by the user, who has not decided on others
  onToggle: (id: string, open: boolean) => void;
}

// ActionLine is one line for an action, which opens to all of it.
export const ActionLine = memo(function ActionLine({ item, directory, open, waiting, allowed, onToggle }: Props) {
  const { icon, verb, subject } = actionText(item.action, directory);
  const summary = ownSummary(item.action);
  const outcome = item.outcome;
  const observation = outcome?.state === 'done' ? outcome.observation : null;
  const counts = editsOf(item.action, observation).map(lineCounts);
  const added = counts.reduce((sum, one) => sum + one.added, 0);
  const removed = counts.reduce((sum, one) => sum + one.removed, 0);
  const failed = hasFailed(outcome);
  return (
    <div className={`action${failed ? ' failed' : ''}${outcome?.state === 'rejected' ? ' rejected' : ''}`}>
      <button className="action-line" aria-expanded={open} onClick={() => onToggle(item.id, !open)}>
        <span className="action-icon">
          <Icon name={icon} size={14} />
        </span>
        <span className="action-verb">{verb}</span>
        {summary && summary !== subject && <span className="action-summary" title={summary}>{summary}</span>}
        <code className="action-subject">{subject}</code>
        {(item.risk === 'HIGH' || item.risk === 'MEDIUM') && <span className={`risk ${item.risk}`}>{riskText(item.risk)}</span>}
        {counts.length > 0 && !failed && (
          <span className="counts number">
            {added > 0 && <ins>+{added}</ins>} {removed > 0 && <del>−{removed}</del>}
          </span>
        )}
        <State item={item} outcome={outcome} waiting={waiting} allowed={allowed} failed={failed} />
        <span className="action-chevron">
          <Icon name="chevron" size={12} />
        </span>
      </button>
      {open && <Details item={item} waiting={waiting} />}
    </div>
  );
});

// Waits says of an action what it waits for.
export const Waits = ({ allowed }: Pick<Props, 'allowed'>) => (allowed ? <span className="state">{tr('allowed')}</span> : <span className="state warn">{tr('waits for you')}</span>);

function State({ item, outcome, waiting, allowed, failed }: { outcome: Outcome | null; failed: boolean } & Pick<Props, 'item' | 'waiting' | 'allowed'>) {
  if (!outcome) {
    return waiting ? (
      <Waits allowed={allowed} />
    ) : (
      <span className="state">
        <span className="dot running" aria-hidden="true" />
        <span className="visually-hidden">{tr('running')}</span>
      </span>
    );
  }
  if (outcome.state === 'rejected') return <span className="state">{tr('rejected')}</span>;
  const code = exitCode(outcome);
  const time = duration(ran([item]));
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
  const edits = editsOf(action, observation);
  const a = action.action;
  let body;
  if (a?.kind === 'TerminalAction') {
    body = (
      <>
        <Copyable label={tr('Copy the command')} text={() => plain(a.command)}>
          <pre className="code command">
            <span aria-hidden="true">$ </span>
            {plain(a.command)}
          </pre>
        </Copyable>
        <CommandOutput action={item.id} running={!outcome && !waiting} result={observation && textOf(observation.content)} styles={stylesOf(observation)} />
      </>
    );
  } else if (edits.length > 0) {
    body = (
      <>
        {edits.map((edit) => (
          <Fragment key={edit.path}>
            {edits.length > 1 && <p className="hint mono">{edit.path}</p>}
            <DiffView before={edit.before} after={edit.after} path={edit.path} split={false} />
          </Fragment>
        ))}
        {observation?.is_error && <Output text={textOf(observation.content)} />}
      </>
    );
  } else if (a?.kind === 'TaskTrackerAction' && Array.isArray(a.task_list) && a.task_list.length > 0) {
    body = <Plan tasks={a.task_list as never} />;
  } else {
    const cell = a?.kind === 'IPythonAction' && typeof a.code === 'string' ? a.code.trim() : '';
    body = (
      <>
        {cell ? (
          <Copyable label={tr('Copy the code')} text={() => cell}>
            <Code text={cell} language="python" />
          </Copyable>
        ) : (
          <Arguments action={action} />
        )}
        {observation && <Output text={resultText(observation)} />}
        {observation && <Pictures observation={observation} />}
        {a?.kind === 'IPythonAction' && textsOf(observation?.tables).map((html, i) => <Tables key={i} html={html} />)}
        {a?.kind === 'IPythonAction' && textsOf(observation?.markdown).map((text, i) => <Markdown key={i} text={text} />)}
      </>
    );
  }
  return (
    <div className="action-details">
      {item.reasoning && <p className="reasoning-text">{item.reasoning}</p>}
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

// Arguments shows the arguments of a call, each with its name.
function Arguments({ action }: { action: ActionItem['action'] }) {
  const all = argumentList(action);
  if (all.length === 0) return null;
  return (
    <dl className="code mono arguments">
      {all.map(([name, value]) => (
        <div key={name}>
          {name && <dt>{name}</dt>}
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

// stylesOf are the colours of a command's output.
function stylesOf(observation: ObservationData | null): string {
  const { styles } = (observation?.metadata ?? {}) as { styles?: unknown };
  return typeof styles === 'string' ? styles : '';
}

// textsOf are the texts of a list, such as the tables that a cell of a notebook has shown.
function textsOf(list: unknown): string[] {
  return Array.isArray(list) ? list.filter((text) => typeof text === 'string') : [];
}

function Pictures({ observation }: { observation: ObservationData }) {
  return picturesOf(observation).map((url, i) => <img key={i} className="picture" src={url} alt={tr('Picture {n} of the result', { n: i + 1 })} />);
}

// ResultLine is a result whose action is not loaded.
export function ResultLine({ item, open, onToggle }: { item: ResultItem; open: boolean; onToggle: (id: string, open: boolean) => void }) {
  const { outcome } = item;
  const text = outcome.state === 'done' ? resultText(outcome.observation) : outcome.state === 'failed' ? outcome.error : outcome.reason;
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
