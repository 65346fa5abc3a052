import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query';
import { useDeferredValue, useEffect, useMemo, useState } from 'react';
import { Link, useSearchParams } from 'wouter';
import { listQuery, listsKey } from '../api/conversations';
import { describe } from '../api/failure';
import { resumeSandbox } from '../api/sandboxes';
import type { ConversationSummary } from '../api/summary';
import { Archive, Tags } from '../conversation/dialogs';
import { ago, spentText, statusText } from '../design/format';
import { Icon } from '../design/Icon';
import { Menu } from '../design/Menu';
import { setTitle } from '../design/title';
import { filters, fits, serverStatus } from './filters';
import { Import } from './Import';
import { Remove, Rename } from './listDialogs';
import { useAsking } from './useAsking';
import { number, tr } from '../i18n/text';
import './all.css';

type Asked = { what: 'rename' | 'remove' | 'tags' | 'archive'; of: ConversationSummary } | null;

// AllConversations is the whole list, with more details and actions than the sidebar.
export default function AllConversations() {
  const queries = useQueryClient();
  // The address has the filters, so that they can be kept and passed on.
  const [address, setAddress] = useSearchParams();
  const [search, filter, tag] = ['title', 'state', 'tag'].map((name) => address.get(name) ?? '') as [string, string, string];
  const set = (name: string) => (value: string) =>
    setAddress(
      (now) => {
        const next = new URLSearchParams(now);
        if (value) next.set(name, value);
        else next.delete(name);
        return next;
      },
      { replace: true },
    );
  const [setSearch, setFilter, setTag] = [set('title'), set('state'), set('tag')];
  const [asked, setAsked] = useState<Asked>(null);
  const [importing, setImporting] = useState(false);
  const title = useDeferredValue(search);
  const status = serverStatus(filter);
  const list = useInfiniteQuery(listQuery(title, status));
  useEffect(() => {
    setTitle(tr('Conversations'));
  }, []);
  const resume = useMutation({ mutationFn: resumeSandbox, onSettled: () => queries.invalidateQueries({ queryKey: listsKey }) });
  const listed = useMemo(() => list.data?.pages.flatMap((p) => p.items) ?? [], [list.data]);
  const asking = useAsking(listed);
  const all = status ? listed : asking; // the server has looked at its own status
  const shown = all.filter((c) => fits(c, filter) && (tag === '' || tag in c.tags));
  // The page itself applies some filters; matches may be on a later page of the server.
  const { hasNextPage, isFetching, fetchNextPage } = list;
  const searching = shown.length < 20 && hasNextPage && all.length < 2000;
  useEffect(() => {
    if (searching && !isFetching) void fetchNextPage();
  }, [searching, isFetching, fetchNextPage]);
  const tags = [...new Set(all.flatMap((c) => Object.keys(c.tags)))].sort();
  const cost = shown.reduce((sum, c) => sum + (c.costUSD ?? 0), 0);
  const failure = list.error ?? resume.error;
  const close = () => setAsked(null);
  return (
    <div className="all">
      <div className="all-inner">
        <h1>{tr('Conversations')}</h1>
        <div className="all-filters">
          <input className="input" type="search" aria-label={tr('Search by title')} placeholder={tr('Search by title')} value={search} onChange={(e) => setSearch(e.target.value)} />
          <select className="input" aria-label={tr('Show by state')} value={filter} onChange={(e) => setFilter(e.target.value)}>
            {filters.map((f) => (
              <option key={f.value} value={f.value}>
                {f.label}
              </option>
            ))}
          </select>
          {(tags.length > 0 || tag) && (
            <select className="input" aria-label={tr('Show by tag')} value={tag} onChange={(e) => setTag(e.target.value)}>
              <option value="">{tr('Any tag')}</option>
              {tags.map((t) => (
                <option key={t} value={t}>
                  #{t}
                </option>
              ))}
            </select>
          )}
          <button className="button" onClick={() => setImporting(true)}>
            {tr('Import …')}
          </button>
        </div>
        {failure && (
          <p className="banner bad" role="alert">
            {describe(failure)}
          </p>
        )}
        {shown.length > 0 && (
          <table className="all-table">
            <thead>
              <tr>
                <th scope="col">{tr('Title')}</th>
                <th scope="col">{tr('State')}</th>
                <th scope="col" className="all-cost">
                  {tr('Cost')}
                </th>
                <th scope="col">{tr('Changed')}</th>
                <th scope="col">
                  <span className="visually-hidden">{tr('Actions')}</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {shown.map((c) => (
                <tr key={c.id}>
                  <td>
                    <Link href={`/conversations/${c.id}`}>{c.title}</Link>
                    <small>
                      {c.location && <span className="hint">{c.location}</span>}
                      {Object.entries(c.tags).map(([k, v]) => (
                        <button key={k} className="all-tag" onClick={() => setTag(k)}>
                          #{v ? `${k}=${v}` : k}
                        </button>
                      ))}
                    </small>
                  </td>
                  <td>
                    <span className={`dot ${c.status}`} aria-hidden="true" /> {statusText(c.status)}
                  </td>
                  <td className="all-cost number">{spentText(c.costUSD)}</td>
                  <td>
                    <time dateTime={c.updatedAt}>{ago(c.updatedAt)}</time>
                  </td>
                  <td>
                    <Menu
                      label={tr('Actions of {title}', { title: c.title })}
                      items={[
                        { label: tr('Rename …'), run: () => setAsked({ what: 'rename', of: c }) },
                        { label: tr('Tags …'), run: () => setAsked({ what: 'tags', of: c }) },
                        ...(!c.directory && (c.sandbox === 'running' || c.sandbox === 'paused') ? [{ label: tr('Archive …'), run: () => setAsked({ what: 'archive', of: c }) }] : []),
                        ...(c.sandbox === 'paused' || c.sandbox === 'archived' || c.sandbox === 'lost' ? [{ label: tr('Resume'), run: () => resume.mutate(c.id) }] : []),
                        { label: tr('Delete …'), danger: true, run: () => setAsked({ what: 'remove', of: c }) },
                      ]}
                    >
                      <Icon name="more" />
                    </Menu>
                  </td>
                </tr>
              ))}
            </tbody>
            <tfoot>
              <tr>
                <th scope="row" colSpan={2}>
                  {tr(hasNextPage ? '{n} shown, there are more' : '{n} shown', { n: number(shown.length) })}
                </th>
                <td className="all-cost number">{spentText(cost)}</td>
                <td colSpan={2} />
              </tr>
            </tfoot>
          </table>
        )}
        {list.isPending && <p className="hint late">{tr('Loading …')}</p>}
        {list.isSuccess && shown.length === 0 && !searching && <p className="hint">{all.length || search ? tr('No conversation is like that.') : tr('There is no conversation yet.')}</p>}
        {hasNextPage && (
          <button className="button" disabled={list.isFetchingNextPage} onClick={() => void fetchNextPage()}>
            {tr('Show more')}
          </button>
        )}
      </div>
      {importing && <Import onClose={() => setImporting(false)} />}
      {asked?.what === 'rename' && <Rename conversation={asked.of} onClose={close} />}
      {asked?.what === 'remove' && <Remove conversation={asked.of} onClose={close} />}
      {asked?.what === 'tags' && <Tags summary={asked.of} onClose={close} />}
      {asked?.what === 'archive' && <Archive id={asked.of.id} onDone={() => queries.invalidateQueries({ queryKey: listsKey })} onClose={close} />}
    </div>
  );
}
