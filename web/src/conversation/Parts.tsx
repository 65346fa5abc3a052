import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import type { Conversation } from '../api/conversation';
import { threadsQuery } from '../api/conversationQueries';
import { partsQuery } from '../api/conversations';
import type { ConversationSummary } from '../api/summary';
import { statusText } from '../design/format';
import { Icon } from '../design/Icon';
import { OutputsContext } from '../events/output';
import { Timeline } from './Timeline';
import { useFollowed } from './useFollowed';
import { Waiting } from './Waiting';
import { tr } from '../i18n/text';

// Parts are the conversations that work on parts of this one: threads, which open in place.
// Those of sub-agents are in the lines of their tasks.
export function Parts({ conversation, ids }: { conversation: Conversation; ids: string[] }) {
  const others = useQuery(threadsQuery(conversation, ids));
  const parts = useQuery({ ...partsQuery(others.data ?? []), enabled: others.data !== undefined });
  const [open, setOpen] = useState<string | null>(null);
  if (!parts.data || parts.data.length === 0) return null;
  return (
    <section className="parts" aria-label={tr('Threads')}>
      <ul>
        {parts.data.map((c) => (
          <li key={c.id}>
            <div className="row">
              <button className="fold grow" aria-expanded={open === c.id} onClick={() => setOpen(open === c.id ? null : c.id)}>
                <Icon name="chevron" size={12} />
                <span className={`dot ${c.status}`} aria-hidden="true" />
                <span className="ellipsis">{c.title}</span>
              </button>
              <span className="hint">{[c.planner ? tr('plans') : '', statusText(c.status)].filter(Boolean).join(' · ')}</span>
              <Link className="button quiet" href={`/conversations/${c.id}`}>
                {tr('Open')}<span className="visually-hidden"> {c.title}</span>
              </Link>
            </div>
            {open === c.id && <Part summary={c} />}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Part({ summary }: { summary: ConversationSummary }) {
  const followed = useFollowed(summary);
  if (!followed) return null;
  const { store, conversation, outputs } = followed;
  return (
    <>
      <div className="part">
        <OutputsContext value={outputs}>
          <Timeline store={store} label={summary.title} address={`/conversations/${summary.id}`} target={null} onRetry={null} onBranch={null} />
        </OutputsContext>
      </div>
      {conversation.live && <Waiting conversation={conversation} store={store} takesFocus={false} />}
    </>
  );
}
