import { useEffect, useRef } from 'react';
import type { PromptOffer } from '../api/prompts';
import { describe } from '../api/failure';
import { plural, tr } from '../i18n/text';
import { usage } from './promptCommand';
import type { PromptChoice } from './usePromptChoice';
import './prompts.css';

// optionID is the id of an option of a list.
export const optionID = (list: string, at: number): string => `${list}-${at}`;

// PromptList shows the prompts that the message can begin with, above the box that keeps the focus.
export function PromptList({ id, choice }: { id: string; choice: PromptChoice }) {
  const { shown, active } = choice;
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' });
  }, [active, shown]);
  return (
    <div className="prompts" onMouseDown={(e) => e.preventDefault()}>
      {shown.length > 0 && (
        <ul
          ref={list}
          id={id}
          role="listbox"
          aria-label={tr('Prompts of MCP servers')}
          aria-activedescendant={active >= 0 ? optionID(id, active) : undefined}
          tabIndex={0} // it scrolls
          onKeyDown={choice.onKey}
          onFocus={() => choice.onFocus(true)}
          onBlur={() => choice.onFocus(false)}
        >
          {shown.map((offer, i) => (
            <li key={offer.command} id={optionID(id, i)} role="option" aria-selected={i === active} onClick={() => choice.choose(offer)} onMouseMove={() => i !== active && choice.activate(i)}>
              <code>{offer.command}</code> {offer.arguments.length > 0 && <code className="hint">{usage(offer)}</code>}
              {offer.description && <span className="prompts-about">{offer.description}</span>}
              {i === active && <Arguments offer={offer} />}
            </li>
          ))}
        </ul>
      )}
      {choice.loading && <p className="hint late">{tr('Asking the MCP servers for their prompts …')}</p>}
      {choice.failure && <p className="composer-problem">{describe(choice.failure)}</p>}
      {choice.warnings.map((w) => (
        <p key={w} className="hint">
          {w}
        </p>
      ))}
    </div>
  );
}

// PromptFound tells screen readers how many prompts are shown.
export function PromptFound({ choice }: { choice: PromptChoice }) {
  return (
    <span className="visually-hidden" role="status">
      {choice.open && choice.shown.length > 0 && plural(choice.shown.length, '1 prompt of an MCP server: choose by the arrow keys and Enter', '{n} prompts of MCP servers: choose by the arrow keys and Enter')}
    </span>
  );
}

// PromptUsage shows the arguments of the prompt that the message names, while they are written.
export function PromptUsage({ id, offer }: { id: string; offer: PromptOffer }) {
  if (offer.arguments.length === 0) return null;
  return (
    <div className="prompts-usage" id={id}>
      <code>{offer.command}</code> <code className="hint">{usage(offer)}</code>
      <Arguments offer={offer} />
    </div>
  );
}

function Arguments({ offer }: { offer: PromptOffer }) {
  const described = offer.arguments.filter((a) => a.description);
  if (described.length === 0) return null;
  return (
    <span className="prompts-arguments">
      {described.map((a) => (
        <span key={a.name}>
          <code>{a.name}</code> {a.description}
        </span>
      ))}
    </span>
  );
}
