import { useCallback, useEffect, useRef, useState } from 'react';
import type { Conversation } from '../api/conversation';
import { tr } from '../i18n/text';
import { LivePage } from './LivePage';
import { openLive, type Frame, type Link, type LiveState, type Tab } from './liveView';

interface Props {
  conversation: Conversation;
  actions: number; // of the browser so far: after another one there may be a browser
}

// Live shows the agent's browser as it is now. Whoever takes it over clicks and types in it.
export function Live({ conversation, actions }: Props) {
  const [state, setState] = useState<LiveState>({ kind: 'connecting' });
  const [tabs, setTabs] = useState<Tab[]>([]);
  const [frame, setFrame] = useState<Frame | null>(null);
  const [mine, setMine] = useState(false);
  const link = useRef<Link | null>(null);
  const shown = useRef<(() => void) | null>(null);
  const takeOver = useRef<HTMLButtonElement>(null);
  const leave = useCallback(() => {
    setMine(false);
    takeOver.current?.focus();
  }, []);
  const send = useCallback((message: object) => link.current?.send(message), []);
  const none = state.kind === 'none';
  const again = none ? actions : -1; // a connection that stands is kept

  useEffect(() => {
    const l = openLive(conversation, {
      onState: (next) => {
        setState(next);
        if (next.kind === 'none' || next.kind === 'failed') {
          setFrame(null);
          setTabs([]);
          setMine(false);
        }
      },
      onTabs: setTabs,
      onFrame: (next, done) => {
        shown.current = done;
        setFrame(next);
      },
    });
    link.current = l;
    return () => {
      l.close();
      link.current = null;
    };
  }, [conversation, again]);

  const active = tabs.find((t) => t.active);
  return (
    <>
      <div className="panel-tools">
        {tabs.length > 1 ? (
          <select className="grow" aria-label={tr('Tab')} value={active?.id ?? ''} onChange={(e) => send({ type: 'tab', id: e.target.value })}>
            {tabs.map((t) => (
              <option key={t.id} value={t.id}>
                {t.title || t.url}
              </option>
            ))}
          </select>
        ) : null}
        <span className="grow ellipsis mono" title={active?.url}>
          {active?.url}
        </span>
        {state.kind === 'open' && (
          <button ref={takeOver} className={mine ? 'button primary' : 'button'} aria-pressed={mine} onClick={() => setMine(!mine)}>
            {mine ? tr('Give back') : tr('Take over')}
          </button>
        )}
      </div>
      {state.kind === 'lost' && (
        <p className="banner warn" role="status">
          {tr('The connection is lost. What you do is not sent.')}
        </p>
      )}
      {state.kind === 'failed' && (
        <p className="banner bad" role="alert">
          {state.detail || tr('The server shows no browser.')}
        </p>
      )}
      {none && <p className="hint">{tr('The agent has opened no browser yet, or it has closed it.')}</p>}
      {frame && mine && <LivePage frame={frame} send={send} onShown={() => shown.current?.()} onLeave={leave} />}
      {frame && !mine && <img className="picture live" src={frame.picture} width={frame.width || undefined} height={frame.height || undefined} alt={tr('The page in the agent’s browser')} onLoad={() => shown.current?.()} draggable={false} />}
    </>
  );
}
