import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState, type ComponentProps, type RefObject } from 'react';
import { Link, useLocation } from 'wouter';
import { useSource } from '../api/context';
import type { Conversation } from '../api/conversation';
import { describe } from '../api/failure';
import { dashed } from '../api/ids';
import { conversationQuery } from '../api/queries';
import type { ConversationSummary, Source } from '../api/source';
import { useCommands } from '../commands/registry';
import { statusText } from '../design/format';
import { Icon, type IconName } from '../design/Icon';
import { loaded } from '../design/loaded';
import { Outputs, OutputsContext } from '../events/output';
import { EventStore } from '../events/store';
import { settledAt } from '../events/settled';
import { useView } from '../events/useView';
import type { MessageItem } from '../events/item';
import { beginning } from '../events/branch';
import { Branch, EditSent } from './Branch';
import { ConversationMenu } from './ConversationMenu';
import { ConnectionBanner } from './ConnectionBanner';
import { Find } from './Find';
import { Meter } from './Meter';
import { Parts } from './Parts';
import { Reply } from './Reply';
import { Timeline } from './Timeline';
import { useChanged } from './useChanged';
import { tr } from '../i18n/text';
import './conversation.css';
import './thread.css';

const Panel = loaded(
  () => import('../panels/Panel'),
  () => <p className="hint late panel-body">{tr('Loading …')}</p>,
);

export const panels: { name: string; label: string; icon: IconName }[] = [
  { name: 'changes', label: tr('Changes'), icon: 'diff' },
  { name: 'files', label: tr('Files'), icon: 'folder' },
  { name: 'terminal', label: tr('Terminal'), icon: 'terminal' },
  { name: 'browser', label: tr('Browser'), icon: 'page' },
  { name: 'apps', label: tr('Apps'), icon: 'globe' },
  { name: 'plan', label: tr('Plan'), icon: 'list' },
  { name: 'agent', label: tr('Agent'), icon: 'tool' },
  { name: 'usage', label: tr('Usage'), icon: 'chart' },
  { name: 'events', label: tr('Events'), icon: 'code' },
];

const panelsOf = (source: Source) => panels.filter((p) => p.name !== 'apps' || source.app);

// stored are the panels that need no sandbox.
const stored = ['browser', 'plan', 'usage', 'events'];

export default function ConversationPage({ id, panel }: { id: string; panel: string | null }) {
  const source = useSource();
  const summary = useQuery({ ...conversationQuery(source, id), refetchInterval: ({ state }) => (state.data && untitled(state.data) ? 2000 : 30_000) });
  const draft = useRef('');
  const key = summary.data ? (summary.data.sessionKey ?? summary.data.sandbox) : null;
  // A sandbox that starts, pauses or is made anew means another connection.
  const conversation = useMemo(() => (summary.data ? source.connect(summary.data) : null), [source, id, key]); // the rest of the summary changes nothing

  if (summary.data === null) return <Gone />;
  if (!summary.data || !conversation) {
    if (!summary.isError) return null;
    return (
      <div className="center">
        <h1>{tr('The conversation cannot be opened')}</h1>
        <p>{describe(summary.error)}</p>
        <button className="button" onClick={() => void summary.refetch()}>
          {tr('Try again')}
        </button>
      </div>
    );
  }
  return <Open key={key} conversation={conversation} id={id} panel={panel} summary={summary.data} draft={draft} />;
}

// titleTime is how long after a run the model may write the title of a conversation, in
// milliseconds.
const titleTime = 40_000;

// untitled reports whether the title may be another one soon: no event tells of it.
function untitled({ status, updatedAt }: ConversationSummary): boolean {
  return status !== 'running' && Math.abs(Date.now() - Date.parse(updatedAt)) < titleTime;
}

function Gone() {
  return (
    <div className="center">
      <h1>{tr('There is no such conversation')}</h1>
      <p>{tr('It was deleted, or belongs to someone else.')}</p>
      <Link className="button" href="/">
        {tr('New task')}
      </Link>
    </div>
  );
}

interface OpenProps {
  conversation: Conversation;
  id: string;
  panel: string | null;
  summary: ConversationSummary;
  draft: RefObject<string>;
}

// Open is a conversation with its store. It is drawn again when its state changes, not for
// each event: its parts take from the store what they show.
function Open({ conversation, id, panel, summary, draft }: OpenProps) {
  const source = useSource();
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  const [store] = useState(() => new EventStore(conversation));
  const [outputs] = useState(() => (conversation.live ? new Outputs(conversation) : null));
  const loaded = useView(store, (v) => v.loaded);
  const current = useView(store, (v) => v.timeline.status);
  const [finding, setFinding] = useState(false);
  const [sent, setSent] = useState(0);
  const [failure, setFailure] = useState('');
  const [branch, setBranch] = useState<{ kind: 'fork' | 'rewind'; event: string } | null>(null);
  // A link may name an event: /conversations/ID?event=…
  const [editing, setEditing] = useState<{ message: MessageItem; before: string } | null>(null);
  const [target, setTarget] = useState<{ id: string } | null>(() => {
    const event = new URLSearchParams(window.location.search).get('event');
    return event ? { id: event } : null;
  });
  const goto = useCallback((event: string) => setTarget((now) => (now?.id === event ? now : { id: event })), []);
  const find = useCallback(() => setFinding(true), []);
  const found = useCallback(() => {
    setFinding(false);
    setTarget(null); // what was found is marked as long as one searches
  }, []);
  const onSent = useCallback(() => setSent((n) => n + 1), []);
  const status = conversation.live ? (loaded ? current : summary.status) : summary.status;

  // Before the first paint: the first events have been asked for early, and are mostly there.
  useLayoutEffect(() => {
    store.open();
    return () => {
      store.close();
      outputs?.close();
    };
  }, [store, outputs]);
  useEffect(() => {
    document.title = `${summary.title} · Deft`;
  }, [summary.title]);
  const refresh = () => {
    void queries.invalidateQueries({ queryKey: ['conversations'] });
    void queries.invalidateQueries({ queryKey: ['conversation', id] });
  };
  // The list shows the state of this conversation too; its title comes during the run. A
  // sandbox that has ended may have taken the files with it.
  const ends = useView(store, (v) => v.timeline.sandboxEnds);
  useChanged(refresh, [status, ends]);
  useChanged(() => {
    refresh();
    void queries.invalidateQueries({ queryKey: ['origin', id] }); // whose title a pull request gets
  }, [summary.title]);
  // A title is paid for; it is stored a moment before or after that.
  const usage = useView(store, (v) => v.timeline.usage);
  useEffect(() => {
    const timer = setTimeout(refresh, 500);
    return () => clearTimeout(timer);
  }, [queries, id, usage]);

  const control = useMutation({
    mutationFn: (action: 'run' | 'pause' | 'interrupt') => conversation[action](),
    onSettled: () => void queries.invalidateQueries({ queryKey: ['conversation', id] }),
  });
  const { mutate } = control;
  const condense = useMutation({ mutationFn: () => conversation.condense(), onError: (error) => setFailure(describe(error)) });
  // What the conversation itself tells is not told twice.
  const told = useView(store, (v) => v.timeline.items.slice(-3).some((item) => item.type === 'error' && item.detail !== '' && failure.startsWith(item.detail.split('\n', 1)[0] as string)));
  useEffect(() => {
    if (told) setFailure('');
  }, [told]);
  const older = useCallback(() => void store.loadOlder(), [store]);
  const retry = useCallback(() => mutate('run'), [mutate]);
  const toBranch = useMemo(
    () =>
      source.app && {
        from: (kind: 'fork' | 'rewind', event: string) => setBranch({ kind, event }),
        edit: (message: MessageItem) => setEditing({ message, before: store.get().timeline.events.find((e) => e.id === message.id)?.parent_id ?? beginning }),
      },
    [source.app, store],
  );
  const running = status === 'running';
  useCommands(
    useMemo(
      () =>
        panelsOf(source).map((p) => ({
          id: `panel-${p.name}`,
          group: tr('Panels'),
          label: p.label,
          run: () => navigate(`/conversations/${id}/${p.name}`),
        })),
      [source, id, navigate],
    ),
  );

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

  return (
    <div className="conversation" data-panel={panel ? '' : undefined}>
      <header className="bar">
        {summary.parent && <Whole id={summary.parent} part={id} />}
        <h1 className="ellipsis">{summary.title}</h1>
        <span className={`status ${status}`} role="status">
          <span className={`dot ${status}`} aria-hidden="true" /> {statusText(status)}
        </span>
        <span className="grow" />
        <StoreMeter store={store} />
        {running && (
          <>
            <button className="button quiet" aria-label={tr('Pause')} title={tr('Stop after the current step')} onClick={() => mutate('pause')}>
              <Icon name="pause" size={14} /> <span className="wide">{tr('Pause')}</span>
            </button>
            <button className="button" title={tr('Stop now (Ctrl+.)')} onClick={() => mutate('interrupt')}>
              <Icon name="stop" size={14} /> {tr('Stop')}
            </button>
          </>
        )}
        {status === 'paused' && (
          <button className="button" onClick={() => mutate('run')}>
            <Icon name="play" size={14} /> {tr('Resume')}
          </button>
        )}
        <ConversationMenu conversation={conversation} summary={summary} onFind={find} onCondense={condense.mutate} onFailure={setFailure} />
      </header>
      <nav className="panel-tabs" aria-label={tr('Panels')}>
        {panelsOf(source).map((p) => (
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
        <ConnectionBanner store={store} />
        {control.isError && (
          <p className="banner bad chat-banner" role="alert">
            {describe(control.error)}
          </p>
        )}
        {failure && (
          <p className="banner bad chat-banner" role="alert">
            <span className="grow">{failure}</span>
            <button className="button quiet" onClick={() => setFailure('')}>
              {tr('Close')}
            </button>
          </p>
        )}
        {condense.isPending && (
          <p className="banner chat-banner late" role="status">
            {tr('The history is being summarised; the agent can go on when that is done.')}
          </p>
        )}
        {finding && <Find conversation={conversation} store={store} onGoto={goto} onClose={found} />}
        {branch && source.app && <Branch app={source.app} id={id} kind={branch.kind} event={settledAt(store.get().timeline.events, branch.event)} onClose={() => setBranch(null)} />}
        {editing && source.app && <EditSent app={source.app} id={id} {...editing} conversation={conversation} onClose={() => setEditing(null)} />}
        {summary.parts.length > 0 && <Parts conversation={conversation} ids={summary.parts} />}
        <OutputsContext value={outputs}>
          <Timeline store={store} address={`/conversations/${id}`} target={target} onOlder={older} onRetry={retry} onBranch={toBranch} sent={sent} />
        </OutputsContext>
        <Reply conversation={conversation} store={store} summary={summary} draft={draft} onSent={onSent} onGoto={goto} />
      </div>
      {panel && (
        <aside className="panel" aria-label={panels.find((p) => p.name === panel)?.label ?? tr('Panel')}>
          <button className="icon-button panel-close" aria-label={tr('Close the panel')} onClick={() => navigate(`/conversations/${id}`)}>
            <Icon name="close" />
          </button>
          {conversation.live || stored.includes(panel) ? (
            <StorePanel store={store} name={panel} id={id} app={source.app} conversation={conversation} onOlder={older} />
          ) : (
            <p className="center">{tr('The sandbox does not run. Resume it to see this.')}</p>
          )}
        </aside>
      )}
    </div>
  );
}

// Whole leads to the conversation that another one is a part of, and there to the task that
// is done in the part, if it is that of a sub-agent.
function Whole({ id, part }: { id: string; part: string }) {
  const source = useSource();
  const whole = useQuery(conversationQuery(source, id));
  const task = useQuery({
    queryKey: ['task', id, part],
    queryFn: async () => (whole.data ? (await source.connect(whole.data).existing([part])).has(part) : false),
    enabled: Boolean(whole.data),
    staleTime: Infinity,
  });
  if (whole.data === null) return null; // it was deleted
  return (
    <Link className="button quiet whole" href={`/conversations/${id}${task.data ? `?event=${dashed(part)}` : ''}`} title={tr('To the conversation that this is a part of')}>
      <Icon name="up" size={14} />
      <span className="visually-hidden">{tr('To the conversation that this is a part of')}: </span>
      <span className="ellipsis">{whole.data?.title}</span>
    </Link>
  );
}

// What shows the store, apart from the page, so that events draw nothing else again.

function StoreMeter({ store }: { store: EventStore }) {
  return <Meter usage={useView(store, (v) => v.timeline.usage)} />;
}

function StorePanel({ store, ...props }: { store: EventStore } & Omit<ComponentProps<typeof Panel>, 'timeline' | 'older'>) {
  const { timeline, older } = useView(store, (v) => v);
  return <Panel timeline={timeline} older={older} {...props} />;
}
