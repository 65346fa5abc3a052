import { memo, useDeferredValue, useState, type ReactNode } from 'react';
import { Link } from 'wouter';
import { useAllCommands } from '../commands/registry';
import { Copyable } from '../design/Copyable';
import { Icon } from '../design/Icon';
import { Long, LongGrowingMarkdown, LongMarkdown } from '../design/Long';
import { messageOf } from '../events/answer';
import type { ErrorItem, MessageItem, NoteItem } from '../events/item';
import { silent, type Readable } from '../events/store';
import { useView } from '../events/useView';
import { Code } from '../syntax/Code';
import { tr } from '../i18n/text';
import { codeWords, userParts } from './userParts';

interface Foldable {
  open: boolean;
  onToggle: (id: string, open: boolean) => void;
}

// Message is a message, or the one that the model is writing. When that is complete, the page
// keeps its parts: a user may have selected something. Keys of the user come before new text.
export const Message = memo(function Message({ item, store = silent, open, onToggle }: { item: MessageItem; store?: Readable } & Foldable) {
  const newest = useView(store, (v) => (item.draft ? v.timeline.draft : null));
  const deferred = useDeferredValue(newest);
  const draft = newest && (deferred ?? newest);
  const { text, reasoning } = draft ? messageOf(draft) : item;
  const [grows] = useState(item.draft);
  return (
    <div className={`message ${item.from}${item.draft ? ' draft' : ''}`}>
      <span className="visually-hidden">{item.from === 'user' ? tr('You') : tr('Agent')}:</span>
      {reasoning && <Reasoning id={item.id} text={reasoning} open={open || (!!draft && !text)} onToggle={onToggle} />}
      {item.from === 'user' ? <Long text={text} draw={userText} /> : text && (grows ? <LongGrowingMarkdown text={text} /> : <LongMarkdown text={text} />)}
      {item.images
        .filter((url) => url.startsWith('data:image/'))
        .map((url, i) => (
          <img key={i} className="picture" src={url} alt={tr('Attached image {n}', { n: i + 1 })} />
        ))}
    </div>
  );
});

// userText is the user's text; code and attached texts in it are set apart.
function userText(text: string): ReactNode {
  return userParts(text).map((part, i) =>
    part.code ? (
      <Copyable key={i} label={tr('Copy the code')} text={() => part.text}>
        <Code text={part.text} language={part.language} />
      </Copyable>
    ) : (
      <p key={i} className="user-text">
        {codeWords(part.text).map((word, n) => (word.code ? <code key={n}>{word.text}</code> : word.text))}
      </p>
    ),
  );
}

export function Reasoning({ id, text, open, onToggle }: { id: string; text: string } & Foldable) {
  return (
    <div className="reasoning">
      <button className="fold" aria-expanded={open} onClick={() => onToggle(id, !open)}>
        <Icon name="chevron" size={12} /> {tr('Reasoning')} {!open && <span className="ellipsis">{text.slice(0, 160)}</span>}
      </button>
      {open && <p className="reasoning-text">{text}</p>}
    </div>
  );
}

export function Note({ item, open, onToggle }: { item: NoteItem } & Foldable) {
  if (item.missing) return <Missing reasons={item.missing} />;
  if (!item.detail && !item.folds) return <p className="note">{item.text}</p>;
  return (
    <div className="note">
      <button className="fold" aria-expanded={open} onClick={() => onToggle(item.id, !open)}>
        <Icon name="chevron" size={12} /> {item.text}
      </button>
      {open && item.detail && <pre className="code">{item.detail}</pre>}
    </div>
  );
}

// Missing tells which parts the agent does not have.
function Missing({ reasons }: { reasons: string[] }) {
  return (
    <div className="banner warn error-block" role="status">
      <Icon name="alert" />
      <div className="grow">
        <strong>{tr('The agent works without these')}</strong>
        {reasons.map((reason) => (
          <p key={reason}>{reason}</p>
        ))}
      </div>
      {reasons.some((reason) => reason.includes('MCP')) && (
        <Link className="button" href="/settings/tools">
          {tr('MCP servers')}
        </Link>
      )}
    </div>
  );
}

// ErrorBlock tells of an error. The last one has a remedy; onRetry is null where
// there is no run to try again.
export function ErrorBlock({ item, last, onRetry }: { item: ErrorItem; last: boolean; onRetry: (() => void) | null }) {
  return (
    <div className="banner bad error-block" role="alert">
      <Icon name="alert" />
      <div className="grow">
        <strong>{titleOf(item.code)}</strong>
        <p>{item.detail}</p>
      </div>
      {last && <Cure item={item} onRetry={onRetry} />}
    </div>
  );
}

// ofModel are errors that a wrong address, key or model can have, beside those whose cure is there.
const ofModel = ['LLMServiceUnavailableError', 'LLMTimeoutError', 'LLMContextWindowExceedError'];

// ofLimits are errors that end a conversation at its limits.
const ofLimits = ['MaxBudgetReached', 'MaxIterationsReached'];

function Cure({ item: { code, cure }, onRetry }: { item: ErrorItem; onRetry: (() => void) | null }): ReactNode {
  const limits = useAllCommands().find((c) => c.id === 'conversation-limits');
  return (
    <span className="row">
      {limits && ofLimits.includes(code) && (
        <button className="button" onClick={limits.run}>
          {limits.label}
        </button>
      )}
      {((cure === 'settings' && !ofLimits.includes(code)) || ofModel.includes(code)) && (
        <Link className="button" href="/settings/models">
          {tr('Open the settings')}
        </Link>
      )}
      {onRetry && (
        <button className="button" onClick={onRetry}>
          {tr('Try again')}
        </button>
      )}
    </span>
  );
}

const titles: Record<string, string> = {
  ACPSpawnError: tr('The agent program could not be started'),
  ACPStartupTimeout: tr('The agent program was not ready in time'),
  ACPInitError: tr('The agent program could not be set up'),
  ACPAuthRequired: tr('The agent program wants a login'),
  ACPPromptError: tr('The agent program has failed'),
  LLMAuthenticationError: tr('The model’s provider refused the API key'),
  ModelNotSetUp: tr('Set up a model first'),
  LLMRateLimitError: tr('The provider’s rate limit is reached'),
  LLMServiceUnavailableError: tr('The model’s provider is not available'),
  LLMTimeoutError: tr('The model did not answer in time'),
  LLMQuotaError: tr('The account at the model’s provider has nothing left'),
  LLMBadRequestError: tr('The model’s provider refused the request'),
  LLMContentPolicyViolationError: tr('The model’s provider refused the content'),
  LLMContextWindowExceedError: tr('The conversation does not fit into the model’s context'),
  CriticFailed: tr('There is no verdict'),
  RuntimeUnavailable: tr('The sandbox is not available'),
  StorageFull: tr('The disk of the server is full'),
  StorageCorrupt: tr('What the server has stored is damaged'),
  InternalError: tr('An error within Deft'),
  MaxIterationsReached: tr('The agent has used all of its steps'),
  MaxBudgetReached: tr('The budget of this conversation allows no further call'),
};

function titleOf(code: string): string {
  return titles[code] ?? code.replace(/^LLM|Error$/g, '').replace(/([a-z])([A-Z])/g, '$1 $2');
}
