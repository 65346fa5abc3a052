import { useMemo, useState } from 'react';
import { Icon } from '../design/Icon';
import type { Item } from '../events/item';
import { screenshots } from '../events/pictures';
import { tr } from '../i18n/text';

// Browser shows the agent's view of a browser: the newest screenshot, unless the user has
// gone back to another one. Those of events that are not loaded yet are not there.
export function Browser({ items }: { items: Item[] }) {
  const all = useMemo(() => screenshots(items), [items]);
  const [chosen, setChosen] = useState<string | null>(null); // null: the newest
  const found = chosen === null ? -1 : all.findIndex((s) => key(s) === chosen);
  const at = found < 0 ? all.length - 1 : found;
  const shown = all[at];
  const go = (to: number) => {
    const next = all[to];
    setChosen(next && to < all.length - 1 ? key(next) : null);
  };
  if (!shown) {
    return (
      <div className="center">
        <p>{tr('No screenshot yet.')}</p>
        <p className="hint">{tr('Deft brings no browser. With an MCP server that has one, such as Playwright’s, what the agent sees is shown here.')}</p>
      </div>
    );
  }
  return (
    <div className="panel-body">
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
    </div>
  );
}

const key = (s: { id: string; picture: string }) => `${s.id} ${s.picture.length}`;
