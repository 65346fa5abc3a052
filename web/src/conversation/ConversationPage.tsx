import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { lazy, Suspense, useCallback, useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { Link, useLocation } from 'wouter';
import { useSource } from '../api/context';
import type { Conversation } from '../api/conversation';
import { describe } from '../api/failure';
import type { ConversationSummary } from '../api/source';
import { statusText } from '../design/format';
import { Icon, type IconName } from '../design/Icon';
import { EventStore } from '../events/store';
import { settledAt } from '../events/settled';
import { pending } from '../events/timeline';
import { Composer } from './Composer';
import { Confirm } from './Confirm';
import { Branch } from './Branch';
import { ConversationMenu } from './ConversationMenu';
import { Find } from './Find';
import { Meter } from './Meter';
import { Timeline } from './Timeline';
import './conversation.css';

const Panel = lazy(() => import('../panels/Panel'));

export const panels: { name: string; label: string; icon: IconName }[] = [
  { name: 'changes', label: 'Changes', icon: 'diff' },
  { name: 'files', label: 'Files', icon: 'folder' },
  { name: 'terminal', label: 'Terminal', icon: 'terminal' },
  { name: 'apps', label: 'Apps', icon: 'globe' },
  { name: 'agent', label: 'Agent', icon: 'tool' },
  { name: 'usage', label: 'Usage', icon: 'chart' },
  { name: 'events', label: 'Events', icon: 'code' },
];

export function ConversationPage({ id, panel }: { id: string; panel: string | null }) {
  const source = useSource();
  const summary = useQuery({ queryKey: ['conversation', id], queryFn: () => source.conversation(id), refetchInterval: 30_000 });
  const connection = useQuery({ queryKey: ['connection', id], queryFn: () => source.connect(id), staleTime: Infinity, gcTime: 0 });

  if (summary.data === null) return <Gone />;
  if (connection.isError || summary.isError) {
    return (
      <div className="center">
        <h1>The conversation cannot be opened</h1>
        <p>{describe(connection.error ?? summary.error)}</p>
        <button className="button" onClick={() => void Promise.all([connection.refetch(), summary.refetch()])}>
          Try again
        </button>
      </div>
    );
  }
  if (!connection.data) return null;
  return <Open conversation={connection.data} id={id} panel={panel} summary={summary.data ?? null} />;
}

function Gone() {
  return (
    <div className="center">
      <h1>There is no such conversation</h1>
      <p>It was deleted, or belongs to someone else.</p>
      <Link className="button" href="/">
        New task
      </Link>
    </div>
  );
}

interface OpenProps {
  conversation: Conversation;
  id: string;
  panel: string | null;
  summary: ConversationSummary | null;
}

function Open({ conversation, id, panel, summary }: OpenProps) {
  const source = useSource();
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  const [store] = useState(() => new EventStore(conversation));
  const view = useSyncExternalStore(store.subscribe, store.get);
  const [text, setText] = useState('');
  const [finding, setFinding] = useState(false);
  const [failure, setFailure] = useState('');
  const [branch, setBranch] = useState<{ kind: 'fork' | 'rewind'; event: string } | null>(null);
  // A link may name an event: /conversations/ID?event=…
  const [target, setTarget] = useState<{ id: string } | null>(() => {
    const event = new URLSearchParams(window.location.search).get('event');
    return event ? { id: event } : null;
  });
  const goto = useCallback((event: string) => setTarget({ id: event }), []);
  const find = useCallback(() => setFinding(true), []);
  const box = useRef<HTMLTextAreaElement>(null);
  const { timeline } = view;
  const status = summary?.status === 'stopped' && !view.loaded ? 'stopped' : timeline.status;

  useEffect(() => {
    store.open();
    return () => store.close();
  }, [store]);
  useEffect(() => {
    document.title = summary ? `${summary.title} · Deft` : 'Deft';
  }, [summary]);
  useEffect(() => {
    if (view.loaded && window.matchMedia('(min-width: 821px)').matches) box.current?.focus();
  }, [view.loaded]);
  // The list shows the state of this conversation too; its title comes during the run.
  useEffect(() => {
    void queries.invalidateQueries({ queryKey: ['conversations'] });
    void queries.invalidateQueries({ queryKey: ['conversation', id] });
  }, [queries, id, status]);

  const control = useMutation({
    mutationFn: (action: 'run' | 'pause' | 'interrupt' | 'resume') => (action === 'resume' ? source.resume(id) : conversation[action]()),
    onSettled: () => void queries.invalidateQueries({ queryKey: ['conversation', id] }),
  });
  const { mutate } = control;
  const older = useCallback(() => void store.loadOlder(), [store]);
  const retry = useCallback(() => mutate('run'), [mutate]);
  const running = status === 'running';

  useEffect(() => {
    const onKey = (e: KeyboardEvent) => {
      if (e.key === 'f' && (e.ctrlKey || e.metaKey) && !e.shiftKey && !e.altKey) {
        e.preventDefault();
        setFinding(true);
      }
      if (e.key === '.' && (e.ctrlKey || e.metaKey) && running) {
        e.preventDefault();
        mutate('interrupt');
      }
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, [running, mutate]);

  const waiting = pending(timeline);
  return (
    <div className="conversation" data-panel={panel ? '' : undefined}>
      <header className="bar">
        <h1 className="ellipsis">{summary?.title ?? ''}</h1>
        <span className={`status ${status}`} role="status">
          <span className={`dot ${status}`} aria-hidden="true" /> {statusText(status)}
        </span>
        <span className="grow" />
        <Meter usage={timeline.usage} />
        {running && (
          <>
            <button className="button quiet" title="Stop after the current step" onClick={() => mutate('pause')}>
              <Icon name="pause" size={14} /> <span className="wide">Pause</span>
            </button>
            <button className="button" title="Stop now (Ctrl+.)" onClick={() => mutate('interrupt')}>
              <Icon name="stop" size={14} /> Stop
            </button>
          </>
        )}
        {status === 'paused' && (
          <button className="button" onClick={() => mutate('run')}>
            <Icon name="play" size={14} /> Resume
          </button>
        )}
        {summary?.status === 'stopped' && (
          <button className="button" onClick={() => mutate('resume')}>
            <Icon name="play" size={14} /> Start the sandbox
          </button>
        )}
        <ConversationMenu conversation={conversation} summary={summary} onFind={find} onFailure={setFailure} />
      </header>
      <nav className="panel-tabs" aria-label="Panels">
        {panels.filter((p) => p.name !== 'apps' || source.app).map((p) => (
          <Link
            key={p.name}
            href={panel === p.name ? `/conversations/${id}` : `/conversations/${id}/${p.name}`}
            aria-current={panel === p.name ? 'true' : undefined}
            className="panel-tab"
            title={p.label}
          >
            <Icon name={p.icon} /> <span>{p.label}</span>
          </Link>
        ))}
      </nav>
      <div className="chat">
        <ConnectionBanner connection={view.connection} loaded={view.loaded} failure={view.failure} />
        {control.isError && (
          <p className="banner bad chat-banner" role="alert">
            {describe(control.error)}
          </p>
        )}
        {failure && (
          <p className="banner bad chat-banner" role="alert">
            <span className="grow">{failure}</span>
            <button className="button quiet" onClick={() => setFailure('')}>
              Close
            </button>
          </p>
        )}
        {finding && <Find items={timeline.items} older={view.older} onOlder={older} onGoto={goto} onClose={() => setFinding(false)} />}
        {branch && source.app && <Branch app={source.app} id={id} kind={branch.kind} event={settledAt(timeline.events, branch.event)} onClose={() => setBranch(null)} />}
        <Timeline view={view} target={target} onOlder={older} onRetry={retry} onBranch={source.app ? (kind, event) => setBranch({ kind, event }) : null} />
        <div className="chat-foot">
          {waiting.length > 0 && (
            <Confirm
              key={waiting[0]?.id}
              actions={waiting}
              directory={timeline.directory}
              onAnswer={async (accept, reason) => {
                await conversation.answer(accept, reason);
                // A reason is for the agent to go on with; without one it waits for a message.
                if (!accept && reason) await conversation.run();
              }}
            />
          )}
          <Composer
            ref={box}
            label="Message"
            placeholder={running ? 'Send a message; the agent reads it at its next step' : 'Reply, or give the next task'}
            text={text}
            onText={setText}
            busy={!view.loaded}
            sendLabel="Send"
            onSend={(images) => conversation.send(text, images).then(() => true)}
          />
        </div>
      </div>
      {panel && (
        <aside className="panel" aria-label={panels.find((p) => p.name === panel)?.label ?? 'Panel'}>
          <button className="icon-button panel-close" aria-label="Close the panel" onClick={() => navigate(`/conversations/${id}`)}>
            <Icon name="close" />
          </button>
          <Suspense fallback={null}>
            <Panel name={panel} id={id} app={source.app} conversation={conversation} timeline={timeline} older={view.older} onOlder={older} />
          </Suspense>
        </aside>
      )}
    </div>
  );
}

function ConnectionBanner({ connection, loaded, failure }: { connection: string; loaded: boolean; failure: string }) {
  if (connection === 'gone') {
    return (
      <p className="banner bad chat-banner" role="alert">
        The server no longer has this conversation.
      </p>
    );
  }
  if (connection !== 'lost') return null;
  return (
    <p className="banner warn chat-banner" role="status">
      {loaded ? 'The connection is lost. What happens meanwhile will be shown once it is back.' : failure || 'Connecting …'}
    </p>
  );
}
