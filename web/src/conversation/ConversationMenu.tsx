import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useMemo, useState } from 'react';
import { useLocation } from 'wouter';
import { infoQuery, switchProfile } from '../api/agent';
import { fork } from '../api/branching';
import { setConfirm, type Preset } from '../api/confirmation';
import type { Conversation } from '../api/conversation';
import { conversationKey, exported, listsKey, share } from '../api/conversations';
import { describe } from '../api/failure';
import { profilesQuery } from '../api/models';
import { confirmationQuery } from '../api/questions';
import { pauseSandbox } from '../api/sandboxes';
import type { ConversationSummary } from '../api/summary';
import { useCommands } from '../commands/registry';
import { CopyButton } from '../design/CopyButton';
import { Dialog } from '../design/Dialog';
import { FormDialog } from '../design/FormDialog';
import { Icon } from '../design/Icon';
import { Markdown } from '../design/Markdown';
import { Menu } from '../design/Menu';
import { save } from '../design/save';
import { Failed } from '../design/Failed';
import { Archive, SetupLog, Tags } from './dialogs';
import { LimitsDialog } from './LimitsDialog';
import { PlanDialog } from './PlanDialogs';
import { tr } from '../i18n/text';

type Open = 'profile' | 'policy' | 'limits' | 'ask' | 'goal' | 'share' | 'tags' | 'archive' | 'setup' | 'plan' | null;

interface Props {
  conversation: Conversation;
  summary: ConversationSummary;
  onFind: () => void;
  onCondense: () => void;
  onFailure: (text: string) => void;
}

// ConversationMenu has the actions on a whole conversation. The palette has them, too.
export function ConversationMenu({ conversation, summary, onFind, onCondense, onFailure }: Props) {
  const [, navigate] = useLocation();
  const [open, setOpen] = useState<Open>(null);
  const { id } = summary;
  const { sandbox, directory } = summary;
  const queries = useQueryClient();
  const refresh = useCallback(async () => {
    await Promise.all([queries.invalidateQueries({ queryKey: conversationKey(id) }), queries.invalidateQueries({ queryKey: listsKey })]);
  }, [queries, id]);
  const commands = useMemo(() => {
    const attempt = (action: () => Promise<void>) => () => void action().catch((error: unknown) => onFailure(describe(error)));
    const { live } = conversation;
    return [
      { id: 'find', label: tr('Search in the conversation'), keys: 'Ctrl+F', run: onFind },
      ...(live
        ? [
            { id: 'profile', label: tr('Switch the model …'), run: () => setOpen('profile') },
            { id: 'policy', label: tr('Change when it asks …'), run: () => setOpen('policy') },
            { id: 'limits', label: tr('Change the limits …'), run: () => setOpen('limits') },
            { id: 'ask', label: tr('Ask aside …'), run: () => setOpen('ask') },
            { id: 'goal', label: tr('Pursue a goal …'), run: () => setOpen('goal') },
            { id: 'condense', label: tr('Summarise the history now'), run: onCondense },
          ]
        : []),
      { id: 'tags', label: tr('Tags …'), run: () => setOpen('tags') },
      ...(sandbox === 'none' || sandbox === 'terminal' ? [] : [{ id: 'fork', label: tr('Fork with its files'), run: attempt(async () => navigate(`/conversations/${await fork(id, null, false)}`)) }]),
      ...(live ? [{ id: 'plan', label: tr('Plan first …'), run: () => setOpen('plan') }] : []),
      { id: 'setup', label: tr('Show the set-up log'), run: () => setOpen('setup') },
      { id: 'export', label: tr('Export as a zip file'), run: attempt(async () => save(await exported(id), `conversation-${id}.zip`)) },
      { id: 'share', label: tr('Share …'), run: () => setOpen('share') },
      ...(live ? [{ id: 'pause-sandbox', label: tr('Pause the sandbox'), run: attempt(async () => (await pauseSandbox(id), refresh())) }] : []),
      ...(!directory && (live || sandbox === 'paused') ? [{ id: 'archive', label: tr('Archive …'), run: () => setOpen('archive') }] : []),
    ].map((c) => ({ ...c, id: `conversation-${c.id}`, group: tr('Conversation') }));
  }, [conversation, id, navigate, onCondense, onFailure, onFind, refresh, sandbox, directory]);
  useCommands(commands);
  const close = () => setOpen(null);
  return (
    <>
      <Menu label={tr('More')} items={commands}>
        <Icon name="more" />
      </Menu>
      {open === 'profile' && <Profiles conversation={conversation} onClose={close} />}
      {open === 'policy' && <Policies conversation={conversation} onClose={close} />}
      {open === 'limits' && <LimitsDialog conversation={conversation} onClose={close} />}
      {open === 'ask' && <Ask conversation={conversation} onClose={close} />}
      {open === 'goal' && <Goal conversation={conversation} onClose={close} />}
      {open === 'tags' && <Tags summary={summary} onClose={close} />}
      {open === 'plan' && <PlanDialog id={id} onClose={close} />}
      {open === 'setup' && <SetupLog id={id} onClose={close} />}
      {open === 'archive' && <Archive id={id} onDone={refresh} onClose={close} />}
      {open === 'share' && <Share id={id} shared={summary.shared} onClose={close} />}
    </>
  );
}

function Profiles({ conversation, onClose }: { conversation: Conversation; onClose: () => void }) {
  const profiles = useQuery({ ...profilesQuery, staleTime: 0 });
  const info = useQuery(infoQuery(conversation));
  const now = (info.data?.agent as { llm?: { usage_id?: string } } | undefined)?.llm?.usage_id; // the server counts a profile under its name
  const change = useMutation({ mutationFn: (name: string) => switchProfile(conversation, name), onSuccess: onClose });
  return (
    <Dialog title={tr('Switch the model')} onClose={onClose}>
      <div className="dialog-form">
        {profiles.data?.length === 0 && <p className="hint">{tr('Profiles are named models. Add one in the settings first.')}</p>}
        {profiles.data?.map((p) => (
          <button key={p.name} className="button" aria-pressed={now === `profile:${p.name}`} disabled={change.isPending} onClick={() => change.mutate(p.name)}>
            {now === `profile:${p.name}` && <Icon name="check" size={14} />} <span>{p.name}</span> <code className="hint">{p.model}</code>
          </button>
        ))}
        <Failed error={change.error ?? profiles.error} />
        <div className="dialog-buttons">
          <button className="button" onClick={onClose}>
            {tr('Cancel')}
          </button>
        </div>
      </div>
    </Dialog>
  );
}

const presets: { preset: Preset; label: string }[] = [
  { preset: 'never', label: tr('Never ask') },
  { preset: 'risky', label: tr('Ask before risky actions') },
  { preset: 'always', label: tr('Ask before every action') },
];

function Policies({ conversation, onClose }: { conversation: Conversation; onClose: () => void }) {
  const confirmation = useQuery(confirmationQuery(conversation));
  const change = useMutation({ mutationFn: (preset: Preset) => setConfirm(conversation, preset), onSuccess: onClose });
  const { preset: now, always = [] } = confirmation.data ?? {};
  return (
    <Dialog title={tr('When does the agent ask?')} onClose={onClose}>
      <div className="dialog-form">
        {presets.map((p) => (
          <button key={p.preset} className="button" aria-pressed={p.preset === now} disabled={change.isPending} onClick={() => change.mutate(p.preset)}>
            {p.preset === now && <Icon name="check" size={14} />} {p.label}
          </button>
        ))}
        {always.length > 0 && <p className="hint">{tr('Always allowed here: {kinds}. A choice above has it ask again.', { kinds: always.join('; ') })}</p>}
        <Failed error={change.error ?? confirmation.error} />
        <div className="dialog-buttons">
          <button className="button" onClick={onClose}>
            {tr('Cancel')}
          </button>
        </div>
      </div>
    </Dialog>
  );
}

function Ask({ conversation, onClose }: { conversation: Conversation; onClose: () => void }) {
  const [question, setQuestion] = useState('');
  const ask = useMutation({ mutationFn: () => conversation.question(question.trim()) });
  return (
    <FormDialog title={tr('Ask aside')} button={ask.isPending ? tr('Asking …') : tr('Ask')} cancel={tr('Close')} action={ask} onClose={onClose}>
      <p className="hint">{tr('The model answers from what it knows of this conversation. Nothing is stored, and the agent goes on.')}</p>
      <input className="input" aria-label={tr('Question')} autoFocus required value={question} onChange={(e) => setQuestion(e.target.value)} />
      {ask.data !== undefined && <Markdown text={ask.data} />}
    </FormDialog>
  );
}

function Goal({ conversation, onClose }: { conversation: Conversation; onClose: () => void }) {
  const [objective, setObjective] = useState('');
  const start = useMutation({ mutationFn: () => conversation.pursue(objective.trim()), onSuccess: onClose });
  return (
    <FormDialog title={tr('Pursue a goal')} button={tr('Start')} action={start} onClose={onClose}>
      <p className="hint">{tr('The agent works in rounds until the model, as a judge, says that this is reached.')}</p>
      <input className="input" aria-label={tr('Objective')} autoFocus required placeholder={tr('All tests pass')} value={objective} onChange={(e) => setObjective(e.target.value)} />
    </FormDialog>
  );
}

function Share({ id, shared, onClose }: { id: string; shared: boolean; onClose: () => void }) {
  const queries = useQueryClient();
  const change = useMutation({
    mutationFn: (wanted: boolean) => share(id, wanted),
    onSuccess: () => queries.invalidateQueries({ queryKey: conversationKey(id) }),
  });
  const on = change.isPending ? change.variables : shared;
  const link = `${window.location.origin}/shared/${id}`;
  return (
    <Dialog title={tr('Share')} onClose={onClose}>
      <div className="dialog-form">
        <label className="row">
          <input type="checkbox" checked={on} onChange={(e) => change.mutate(e.target.checked)} />
          {tr('Everybody who has the link can read this conversation')}
        </label>
        {shared && ( // as the server has it, not as it was asked
          <div className="row">
            <input className="input mono" readOnly aria-label={tr('Link')} value={link} onFocus={(e) => e.target.select()} />
            <CopyButton text={link} />
          </div>
        )}
        <p className="hint">{tr('They see messages, actions and outputs; not the files, the terminal or your settings.')}</p>
        <Failed error={change.error} />
        <div className="dialog-buttons">
          <button className="button" onClick={onClose}>
            {tr('Close')}
          </button>
        </div>
      </div>
    </Dialog>
  );
}
