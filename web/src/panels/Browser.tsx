import { useMemo, useState } from 'react';
import type { Conversation } from '../api/conversation';
import { Icon } from '../design/Icon';
import type { Item } from '../events/item';
import { ownActions, screenshots, type Screenshot } from '../events/pictures';
import { tr } from '../i18n/text';
import { Live } from './Live';

// Browser shows the agent's browser: live, or the screenshots of its actions. A browser that is not
// Deft's, such as an MCP server's, has screenshots only.
export function Browser({ conversation, items }: { conversation: Conversation; items: Item[] }) {
  const all = useMemo(() => screenshots(items), [items]);
  const actions = useMemo(() => ownActions(items), [items]);
  const [old, setOld] = useState(false);
  const live = actions > 0 && !old;
  if (actions === 0 && all.length === 0) {
    return (
      <div className="center">
        <p>{tr('The agent has used no browser yet.')}</p>
        <p className="hint">{tr('It has one with the browser tools, or with an MCP server such as Playwright’s.')}</p>
      </div>
    );
  }
  return (
    <div className="panel-body">
      {actions > 0 && all.length > 0 && (
        <div className="panel-tools" role="group" aria-label={tr('View')}>
          <button className="button" aria-pressed={live} onClick={() => setOld(false)}>
            {tr('Live')}
          </button>
          <button className="button" aria-pressed={!live} onClick={() => setOld(true)}>
            {tr('Screenshots')}
          </button>
        </div>
      )}
      {live ? <Live conversation={conversation} actions={actions} /> : <Screenshots all={all} />}
    </div>
  );
}

// Screenshots shows the newest screenshot, unless the user has gone back to another one. Those of
// events that are not loaded yet are not there.
function Screenshots({ all }: { all: Screenshot[] }) {
  const [chosen, setChosen] = useState<string | null>(null); // null: the newest
  const found = chosen === null ? -1 : all.findIndex((s) => key(s) === chosen);
  const at = found < 0 ? all.length - 1 : found;
  const shown = all[at];
  const go = (to: number) => {
    const next = all[to];
    setChosen(next && to < all.length - 1 ? key(next) : null);
  };
  if (!shown) return <p className="hint">{tr('No screenshot yet.')}</p>;
  return (
    <>
      <div className="panel-tools">
        <span className="grow ellipsis mono" title={shown.address}>
          {shown.address || shown.tool}
        </span>
        <button className="icon-button turned" aria-label={tr('The screenshot before')} title={tr('The screenshot before')} disabled={at === 0} onClick={() => go(at - 1)}>
          <Icon name="chevron" />
        </button>
        <span className="hint number" role="status">
          {tr('{n} of {all}', { n: at + 1, all: all.length })}
        </span>
        <button className="icon-button" aria-label={tr('The next screenshot')} title={tr('The next screenshot')} disabled={at === all.length - 1} onClick={() => go(at + 1)}>
          <Icon name="chevron" />
        </button>
      </div>
      <img className="picture" src={shown.picture} alt={tr('Screenshot {n}', { n: at + 1 })} />
    </>
  );
}

const key = (s: { id: string; picture: string }) => `${s.id} ${s.picture.length}`;
