import { useQuery } from '@tanstack/react-query';
import { useCallback, useRef, useState, type KeyboardEvent } from 'react';
import type { Conversation } from '../api/conversation';
import { describe } from '../api/failure';
import { closeTerminal, terminalsQuery, type OpenTerminal } from '../api/terminals';
import { Icon } from '../design/Icon';
import { TerminalView } from './TerminalView';
import { tr } from '../i18n/text';

// Terminal shows the shells of the conversation's sandbox, with the open ones first:
// the server keeps them and their newest output.
export default function Terminal({ conversation }: { conversation: Conversation }) {
  const open = useQuery(terminalsQuery(conversation));
  if (open.isError) {
    return (
      <div className="panel-body">
        <p className="banner bad" role="alert">
          <span className="grow">{describe(open.error)}</span>
          <button className="button" onClick={() => void open.refetch()}>
            {tr('Try again')}
          </button>
        </p>
      </div>
    );
  }
  if (!open.data) return null;
  return <Terminals conversation={conversation} open={open.data.filter((t) => t.exit_code === undefined)} />;
}

// A Tab is a terminal of the page; its id is null until the server has opened it.
interface Tab {
  key: number;
  id: string | null;
  visited: boolean; // it is connected, and stays so
}

// The terminal that a conversation's panel showed last, for when it is opened again.
const newest = new Map<string, string>();

function Terminals({ conversation, open }: { conversation: Conversation; open: OpenTerminal[] }) {
  const next = useRef(open.length + 2);
  const [tabs, setTabs] = useState<Tab[]>(() => begin(open, newest.get(conversation.id)));
  const [active, setActive] = useState(() => tabs.find((t) => t.visited)?.key ?? 0);
  const [failure, setFailure] = useState('');
  const list = useRef<HTMLDivElement>(null);

  const show = (key: number) => {
    setActive(key);
    setTabs((all) => all.map((t) => (t.key === key ? { ...t, visited: true } : t)));
    const id = tabs.find((t) => t.key === key)?.id;
    if (id) newest.set(conversation.id, id);
  };
  const add = () => {
    const key = next.current++;
    setTabs((all) => [...all, { key, id: null, visited: true }]);
    setActive(key);
  };
  const restart = (key: number) => {
    const fresh = next.current++;
    setTabs((all) => all.map((t) => (t.key === key ? { key: fresh, id: null, visited: true } : t)));
    setActive(fresh);
  };
  const close = (key: number) => {
    const at = tabs.findIndex((t) => t.key === key);
    const id = tabs[at]?.id;
    const left = tabs.filter((t) => t.key !== key);
    const then = left[Math.min(at, left.length - 1)];
    setTabs(left.map((t) => (t === then ? { ...t, visited: true } : t)));
    setActive(then?.key ?? 0);
    setFailure('');
    // A shell that has ended may be gone from the server too.
    if (id) closeTerminal(conversation, id).catch((error: unknown) => setFailure(describe(error)));
  };
  const leave = useCallback(() => list.current?.querySelector<HTMLElement>('[aria-selected="true"]')?.focus(), []);
  const onKey = (e: KeyboardEvent) => {
    const at = tabs.findIndex((t) => t.key === active);
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: tabs.length - 1 }[e.key];
    if (e.key === 'Delete') close(active);
    else if (to === undefined) return;
    const chosen = to === undefined ? undefined : tabs[(to + tabs.length) % tabs.length];
    if (chosen) show(chosen.key);
    e.preventDefault();
  };

  return (
    <div className="terminal-panel">
      <div className="terminal-bar">
        <div ref={list} className="terminal-tabs" role="tablist" aria-label={tr('Terminals')} onKeyDown={onKey}>
          {tabs.map((t) => (
            <button
              key={t.key}
              role="tab"
              id={`terminal-tab-${t.key}`}
              aria-selected={t.key === active}
              aria-controls={t.visited ? `terminal-${t.key}` : undefined}
              tabIndex={t.key === active ? 0 : -1}
              className="panel-tab"
              onClick={() => show(t.key)}
            >
              {tr('Shell {n}', { n: t.key })}
            </button>
          ))}
        </div>
        <button className="icon-button" aria-label={tr('New terminal')} title={tr('New terminal')} onClick={add}>
          <Icon name="plus" size={14} />
        </button>
        <span className="grow" />
        {tabs.length > 0 && (
          <>
            <span className="hint wide">{tr('Shift+Esc leaves')}</span>
            <button className="icon-button" aria-label={tr('End this shell')} title={tr('End this shell')} onClick={() => close(active)}>
              <Icon name="trash" size={14} />
            </button>
          </>
        )}
      </div>
      {failure && (
        <p className="banner bad" role="alert">
          {failure}
        </p>
      )}
      {tabs.length === 0 && (
        <div className="center">
          <p>{tr('No terminal is open.')}</p>
          <button className="button" onClick={add}>
            {tr('New terminal')}
          </button>
        </div>
      )}
      {tabs
        .filter((t) => t.visited)
        .map((t) => (
          <div key={t.key} id={`terminal-${t.key}`} role="tabpanel" aria-labelledby={`terminal-tab-${t.key}`} className="terminal-page" hidden={t.key !== active}>
            <TerminalView
              conversation={conversation}
              id={t.id}
              shown={t.key === active}
              onOpened={(id) => {
                newest.set(conversation.id, id);
                setTabs((all) => all.map((one) => (one.key === t.key ? { ...one, id } : one)));
              }}
              onRestart={() => restart(t.key)}
              onLeave={leave}
            />
          </div>
        ))}
    </div>
  );
}

// begin makes the tabs of the open terminals. One is connected: the last shown one, or one
// without a client; else a new shell is opened.
function begin(open: OpenTerminal[], last: string | undefined): Tab[] {
  const chosen = open.find((t) => t.id === last) ?? open.find((t) => !t.attached);
  const tabs = open.map((t, i) => ({ key: i + 1, id: t.id, visited: t === chosen }));
  return chosen ? tabs : [...tabs, { key: open.length + 1, id: null, visited: true }];
}
