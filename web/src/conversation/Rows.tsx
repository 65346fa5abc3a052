import { memo, type ReactNode } from 'react';
import { Link } from 'wouter';
import { Icon } from '../design/Icon';
import { Markdown } from '../design/Markdown';
import type { ErrorItem, MessageItem, NoteItem } from '../events/item';
import { tr } from '../i18n/text';
import { userParts } from './userParts';

interface Foldable {
  open: boolean;
  onToggle: (id: string, open: boolean) => void;
}

export const Message = memo(function Message({ item, open, onToggle }: { item: MessageItem } & Foldable) {
  return (
    <div className={`message ${item.from}`}>
      <span className="visually-hidden">{item.from === 'user' ? tr('You') : tr('Agent')}:</span>
      {item.reasoning && <Reasoning id={item.id} text={item.reasoning} open={open} onToggle={onToggle} />}
      {item.from === 'user' ? <UserText text={item.text} /> : item.text && <Markdown text={item.text} />}
      {item.images
        .filter((url) => url.startsWith('data:image/'))
        .map((url, i) => (
          <img key={i} className="picture" src={url} alt={tr('Attached image {n}', { n: i + 1 })} />
        ))}
    </div>
  );
});

// UserText is the user's text; code and attached texts in it are set apart.
function UserText({ text }: { text: string }) {
  return userParts(text).map((part, i) =>
    part.code ? (
      <pre key={i} className="code" tabIndex={0}>
        {part.text}
      </pre>
    ) : (
      <p key={i} className="user-text">
        {part.text}
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
      {last && <Cure cure={item.cure} onRetry={onRetry} />}
    </div>
  );
}

function Cure({ cure, onRetry }: { cure: ErrorItem['cure']; onRetry: (() => void) | null }): ReactNode {
  return (
    <span className="row">
      {cure === 'settings' && (
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
  LLMAuthenticationError: tr('The model’s provider refused the API key'),
  ModelNotSetUp: tr('Set up a model first'),
  LLMRateLimitError: tr('The provider’s rate limit is reached'),
  LLMServiceUnavailableError: tr('The model’s provider cannot be reached'),
  LLMContextWindowExceedError: tr('The conversation does not fit into the model’s context'),
  MaxIterationsReached: tr('The agent has used all of its steps'),
  MaxBudgetReached: tr('The budget of this conversation allows no further call'),
};

function titleOf(code: string): string {
  return titles[code] ?? code.replace(/^LLM|Error$/g, '').replace(/([a-z])([A-Z])/g, '$1 $2');
}
