import { useInfiniteQuery } from '@tanstack/react-query';
import { Fragment, useDeferredValue, useEffect, useMemo, useRef, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { listQuery } from '../api/conversations';
import { describe } from '../api/failure';
import type { ConversationSummary } from '../api/summary';
import { ago, spentText, statusText } from '../design/format';
import { Icon } from '../design/Icon';
import { news, notices, show } from '../design/notices';
import { isDark, setTheme } from '../design/theme';
import { filters, fits } from './filters';
import { Remove, Rename } from './listDialogs';
import { StartTasks, timely, useStartTasks } from './StartTasks';
import { useAsking } from './useAsking';
import { tr } from '../i18n/text';

export function Sidebar({ onClose }: { onClose: () => void }) {
  const [search, setSearch] = useState('');
  const [filter, setFilter] = useState('');
  return (
    <nav className="sidebar" aria-label={tr('Conversations')}>
      <header>
        <Link href="/" className="brand">
          <img src="/icon.svg" width="20" height="20" alt="" />
          Deft
        </Link>
        <button className="icon-button close-menu" aria-label={tr('Close the menu')} onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      <div className="sidebar-top">
        <Link href="/" className="button">
          <Icon name="plus" /> {tr('New task')}
        </Link>
        <label className="search">
          <span className="visually-hidden">{tr('Search conversations')}</span>
          <Icon name="search" size={14} />
          <input id="conversation-search" className="input" type="search" placeholder={tr('Search')} value={search} onChange={(e) => setSearch(e.target.value)} />
        </label>
      </div>
      <ConversationList search={useDeferredValue(search)} filter={filter} onFilter={setFilter} />
      <footer>
        <Link href="/conversations" className="button quiet">
          <Icon name="list" /> {tr('All')}
          <span className="visually-hidden"> {tr('conversations')}</span>
        </Link>
        <Link href="/settings" className="button quiet">
          <Icon name="gear" /> {tr('Settings')}
        </Link>
        <ThemeButton />
      </footer>
    </nav>
  );
}

function ThemeButton() {
  const [dark, setDark] = useState(isDark);
  const toggle = () => {
    setTheme(dark ? 'light' : 'dark');
    setDark(!dark);
  };
  return (
    <button className="icon-button" aria-label={dark ? tr('Use the light theme') : tr('Use the dark theme')} onClick={toggle}>
      <Icon name={dark ? 'sun' : 'moon'} />
    </button>
  );
}

interface ListProps {
  search: string;
  filter: string; // a status, or empty
  onFilter: (filter: string) => void;
}

function ConversationList({ search, filter, onFilter }: ListProps) {
  const [current] = useLocation();
  const [renaming, setRenaming] = useState<ConversationSummary | null>(null);
  const [removing, setRemoving] = useState<ConversationSummary | null>(null);
  const list = useInfiniteQuery({
    ...listQuery(search),
    refetchIntervalInBackground: notices(), // else only while the page is visible
  });
  const tasks = useStartTasks();
  // A conversation that is being started is not idle yet.
  const starting = new Set(tasks.map((t) => t.conversation));
  const listed = useAsking(useMemo(() => list.data?.pages.flatMap((p) => p.items) ?? [], [list.data]));
  const all = listed.filter((c) => !starting.has(c.id));
  const items = all.filter((c) => fits(c, filter));
  // Starts at work are on top, failed ones where their time is.
  const shownTasks = search === '' && filter === '' ? tasks : [];
  const pinned = shownTasks.filter((t) => !t.ended);
  const failed = shownTasks.filter((t) => t.ended);
  useNews(search === '' && list.data ? listed : undefined);

  if (list.isError && items.length === 0) {
    return (
      <div className="conversation-list-failed">
        <p className="banner bad" role="alert">
          {describe(list.error)}
        </p>
      </div>
    );
  }
  return (
    <>
      {(all.length > 3 || filter !== '') && (
        <label className="sidebar-filter">
          <span className="visually-hidden">{tr('Show by state')}</span>
          <select value={filter} onChange={(e) => onFilter(e.target.value)}>
            {filters.map((f) => (
              <option key={f.value} value={f.value}>
                {f.label}
              </option>
            ))}
          </select>
        </label>
      )}
      <ul className="conversation-list">
        <StartTasks tasks={pinned} />
        {items.map((c, i) => (
          <Fragment key={c.id}>
            <StartTasks tasks={timely(failed, items[i - 1]?.updatedAt ?? '', c.updatedAt)} />
            <li>
              <Link
                href={`/conversations/${c.id}`}
                className="conversation-link"
                aria-current={current.startsWith(`/conversations/${c.id}`) ? 'page' : undefined}
              >
                <span className={`dot ${c.status}`} aria-hidden="true" />
                <span className="ellipsis">{c.title}</span>
                <small className="ellipsis">
                  {[statusText(c.status), ago(c.updatedAt), spentText(c.costUSD), ...Object.entries(c.tags).map(([k, v]) => `#${v ? `${k}=${v}` : k}`)]
                    .filter(Boolean)
                    .join(' · ')}
                </small>
              </Link>
              <span className="conversation-actions">
                <button className="icon-button" aria-label={tr('Rename {title}', { title: c.title })} onClick={() => setRenaming(c)}>
                  <Icon name="pencil" size={14} />
                </button>
                <button className="icon-button" aria-label={tr('Delete {title}', { title: c.title })} onClick={() => setRemoving(c)}>
                  <Icon name="trash" size={14} />
                </button>
              </span>
            </li>
          </Fragment>
        ))}
        {!list.hasNextPage && <StartTasks tasks={timely(failed, items.at(-1)?.updatedAt ?? '', '')} />}
        {list.isPending && tasks.length === 0 && (
          <li className="hint late" style={{ padding: '8px' }}>
            {tr('Loading …')}
          </li>
        )}
        {list.isSuccess && items.length === 0 && tasks.length === 0 && (
          <li className="hint" style={{ padding: '8px' }}>
            {search || filter ? tr('No conversation is like that.') : tr('Your conversations will be listed here.')}
          </li>
        )}
        {list.hasNextPage && (
          <li>
            <button className="button quiet" disabled={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
              {tr('Show more')}
            </button>
          </li>
        )}
      </ul>
      {renaming && <Rename conversation={renaming} onClose={() => setRenaming(null)} />}
      {removing && <Remove conversation={removing} onClose={() => setRemoving(null)} />}
    </>
  );
}

// useNews tells of changes of conversations, if the user wants that and looks elsewhere.
function useNews(items: ConversationSummary[] | undefined): void {
  const [, navigate] = useLocation();
  const before = useRef(new Map<string, string>());
  useEffect(() => {
    if (!items) return;
    const changed = news(before.current, items, performance.timeOrigin);
    for (const c of items) before.current.set(c.id, c.status);
    if (!notices() || (document.visibilityState === 'visible' && document.hasFocus())) return;
    for (const one of changed) show(one, (id) => navigate(`/conversations/${id}`));
  }, [items, navigate]);
}
