import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { presetQuery } from '../api/confirmation';
import { demo, newestQuery } from '../api/conversations';
import { directoriesQuery } from '../api/directories';
import { describe } from '../api/failure';
import type { Limits } from '../api/limits';
import { activateProfile, modelQuery, profilesQuery } from '../api/models';
import { start as startConversation, startTasksKey } from '../api/startTasks';
import type { ConversationSummary } from '../api/summary';
import { ago, statusText } from '../design/format';
import { Icon } from '../design/Icon';
import { byTouch } from '../design/touch';
import { setTitle } from '../design/title';
import { Composer } from '../conversation/Composer';
import { newTask, useDraft } from '../conversation/draft';
import { DirectoryChoice, usualPlace, type Where } from './DirectoryChoice';
import { nothing, Repository, trimmed } from './Repository';
import { quotedFile, refusal } from './quoted';
import { SandboxChoice } from './SandboxChoice';
import { FirstRun } from './FirstRun';
import { LimitChoice } from './LimitChoice';
import { Suggestions } from './Suggestions';
import { useAsking } from './useAsking';
import { tr } from '../i18n/text';
import './home.css';

export function Home() {
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  const model = useQuery(modelQuery);
  const ready = model.data && model.data.model !== '' && model.data.keySet; // undefined: not known yet
  const [text, setText] = useDraft(newTask);
  const [asks, setAsks] = useState<boolean | null>(null); // null: as the settings say
  const preset = useQuery(presetQuery).data ?? 'risky';
  const usual = preset !== 'never';
  const [plan, setPlan] = useState(false);
  const [choice, setChoice] = useState(nothing);
  const [sandbox, setSandbox] = useState('');
  const [limits, setLimits] = useState<Limits | null>(null);
  const [network, setNetwork] = useState('');
  const [chosen, setChosen] = useState<Where | null>(null); // null: the project in which the server was started
  const offered = useQuery(directoriesQuery).data;
  const where = chosen ?? usualPlace(offered);
  const directory = where.directory.trim();
  const box = useRef<HTMLTextAreaElement>(null);
  const profiles = useQuery({ ...profilesQuery, enabled: ready === true });
  const [profile, setProfile] = useState<string | null>(null); // chosen just now
  const activate = useMutation({
    mutationFn: activateProfile,
    onSettled: async () => {
      await queries.invalidateQueries();
      setProfile(null);
    },
  });
  const start = useMutation({
    mutationFn: async ({ images, files }: { images: string[]; files: File[] }) => {
      // A quick user starts before the project is known.
      const place = chosen ?? usualPlace(await queries.ensureQueryData(directoriesQuery));
      const directory = place.directory.trim();
      return startConversation({
        text: [text.trim(), ...(await Promise.all(files.map(quotedFile)))].filter(Boolean).join('\n\n'),
        images,
        ...(asks === null || asks === usual ? {} : { confirm: asks ? ('risky' as const) : ('never' as const) }),
        plan,
        ...(limits && limits.steps > 0 ? { limits } : {}),
        ...(network ? { network } : {}),
        ...(directory ? { directory, worktree: place.worktree } : sandbox ? { sandbox } : trimmed(choice)),
      });
    },
    onSuccess: (id) => {
      void queries.invalidateQueries({ queryKey: startTasksKey });
      navigate(`/starting/${id}`);
    },
  });
  useEffect(() => {
    setTitle();
    if (ready) box.current?.focus();
  }, [ready]);

  return (
    <div className="home">
      <div className="home-inner">
        <h1>{tr('What should be done?')}</h1>
        {model.isError && (
          <p className="banner bad" role="alert">
            {describe(model.error)}
          </p>
        )}
        {ready === false && <FirstRun />}
        {ready === false && <Demo />}
        {ready === true && (
          <>
            <Composer
              ref={box}
              place={newTask}
              label={tr('Task')}
              placeholder={byTouch() ? tr('Describe a task.') : tr('Describe a task. Enter starts it, Shift+Enter makes a new line.')}
              text={text}
              onText={setText}
              busy={start.isPending}
              sendLabel={tr('Start')}
              onFile={refusal}
              onSend={(images, files) =>
                start.mutateAsync({ images, files }).then(
                  () => true,
                  () => false, // shown below
                )
              }
            />
            <div className="home-options">
              {offered?.refused === '' && <DirectoryChoice offered={offered} where={where} onWhere={setChosen} />}
              {!sandbox && !directory && <Repository choice={choice} onChoice={setChoice} />}
              {!directory && <SandboxChoice sandbox={sandbox} onSandbox={setSandbox} />}
              <label className="row">
                <input type="checkbox" checked={asks ?? usual} onChange={(e) => setAsks(e.target.checked)} />{' '}
                {preset === 'always' ? tr('Ask before every action') : tr('Ask before risky actions')}
              </label>
              <label className="row">
                <input type="checkbox" checked={plan} onChange={(e) => setPlan(e.target.checked)} /> {tr('Plan first')}
              </label>
              <span className="grow" />
              {profiles.data && profiles.data.length > 0 ? (
                <label className="home-where">
                  <span className="visually-hidden">{tr('Model')}</span>
                  <select
                    className="model-select mono"
                    disabled={activate.isPending}
                    value={profile ?? profiles.data.find((p) => p.active)?.name ?? ''}
                    onChange={(e) => {
                      if (!e.target.value) return;
                      setProfile(e.target.value);
                      activate.mutate(e.target.value);
                    }}
                  >
                    {!profiles.data.some((p) => p.active) && <option value="">{model.data?.model}</option>}
                    {profiles.data.map((p) => (
                      <option key={p.name} value={p.name}>
                        {p.name}: {p.model}
                      </option>
                    ))}
                  </select>
                </label>
              ) : (
                model.data && (
                  <Link href="/settings/models" className="hint model-link">
                    {model.data.model}
                  </Link>
                )
              )}
              <LimitChoice limits={limits} onLimits={setLimits} network={network} onNetwork={setNetwork} />
            </div>
            {activate.isError && (
              <p className="banner bad" role="alert">
                {describe(activate.error)}
              </p>
            )}
            {start.isError && (
              <p className="banner bad" role="alert">
                {describe(start.error)}
              </p>
            )}
            <Running />
            <Suggestions
              text={text}
              onText={(next) => {
                setText(next);
                box.current?.focus();
              }}
              onTask={(next, wanted) => {
                setText(next);
                setSandbox('');
                setChosen({ directory: '', worktree: false });
                setChoice(wanted);
                box.current?.focus();
              }}
            />
          </>
        )}
      </div>
    </div>
  );
}

const none: ConversationSummary[] = [];

// Running are the conversations that work or wait for the user now.
function Running() {
  const list = useQuery(newestQuery);
  const items = useAsking(list.data?.items ?? none).filter((c) => ['running', 'starting', 'waiting_for_confirmation'].includes(c.status)).slice(0, 6);
  if (items.length === 0) return null;
  return (
    <section className="at-work" aria-labelledby="running-title">
      <h2 id="running-title">{tr('At work')}</h2>
      <ul>
        {items.map((c) => (
          <li key={c.id}>
            <Link href={`/conversations/${c.id}`}>
              <span className={`dot ${c.status}`} aria-hidden="true" />
              <span className="grow ellipsis">{c.title}</span>
              <span className="hint">
                {statusText(c.status)} · {ago(c.updatedAt)}
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}

// Demo starts a recorded session, without a model.
export function Demo() {
  const [, navigate] = useLocation();
  const start = useMutation({ mutationFn: demo, onSuccess: (id) => navigate(`/conversations/${id}`) });
  return (
    <div className="demo">
      <button className="button" disabled={start.isPending} onClick={() => start.mutate()}>
        <Icon name="play" size={14} /> {tr('Watch the demo')}
      </button>
      <span className="hint">{tr('a recorded session, replayed with real tools in a real sandbox; no key needed')}</span>
      {start.isError && (
        <p className="banner bad" role="alert">
          {describe(start.error)}
        </p>
      )}
    </div>
  );
}
