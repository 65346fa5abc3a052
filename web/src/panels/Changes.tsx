import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import type { Conversation } from '../api/conversation';
import { describe } from '../api/failure';
import { changeFiles, changesQuery, commit, lookAgain, patch, statusQuery } from '../api/git';
import { Dialog } from '../design/Dialog';
import { Icon } from '../design/Icon';
import { save } from '../design/save';
import type { Timeline } from '../events/timeline';
import { ChangeList } from './ChangeList';
import { pathsOf, rows, total, type Row } from './changes';
import { Lines } from './FileChange';
import { Publish } from './Publish';
import { useThrottled } from './useThrottled';
import { plural, tr } from '../i18n/text';
import { trNodes } from '../i18n/nodes';

interface Props {
  conversation: Conversation;
  timeline: Timeline;
  id: string;
}

// Changes shows the differences of the workspace since the work began, and leads to a commit,
// a branch and a pull request.
export function Changes({ conversation, timeline, id }: Props) {
  const [split, setSplit] = useState(false);
  const [message, setMessage] = useState('');
  const [discarding, setDiscarding] = useState<Row | null>(null);
  const queries = useQueryClient();
  const directory = timeline.directory;
  // The agent changes files by actions: each of their results makes a new state.
  const step = useThrottled(timeline.items.length, 500);
  const changes = useQuery(changesQuery(conversation, directory, step));
  const git = useQuery(statusQuery(conversation, directory, step));
  const again = () => lookAgain(queries, conversation);
  const work = useMutation({ mutationFn: (action: () => Promise<unknown>) => action(), onSettled: again });
  // Not part of work: a commit need not wait for it.
  const download = useMutation({ mutationFn: async () => save(await patch(conversation, directory, git.data?.unpushed == null ? 'HEAD' : null), 'changes.patch') });
  const all = useMemo(() => rows(changes.data ?? [], git.data ?? null), [changes.data, git.data]);
  const sum = useMemo(() => total(all), [all]);
  const staged = all.filter((r) => r.staged === 'part' || r.staged === 'all').length;
  const uncommitted = all.filter((r) => r.staged !== null).length;
  const commitAll = async () => {
    await commit(conversation, directory, message.trim(), staged === 0);
    setMessage('');
  };
  const failure = work.error ?? download.error ?? changes.error;
  return (
    <div className="panel-body">
      <div className="panel-tools">
        <span className="grow hint">
          {changes.data && plural(all.length, '1 file changed', '{n} files changed')} {sum && <Lines {...sum} />}
        </span>
        <label className="row">
          <input type="checkbox" checked={split} onChange={(e) => setSplit(e.target.checked)} /> {tr('Side by side')}
        </label>
        <button
          className="button quiet"
          title={tr('Download the changes as a patch')}
          disabled={all.length === 0 || download.isPending}
          onClick={() => download.mutate()}
        >
          <Icon name="down" size={14} /> {tr('Patch')}
        </button>
        <button className="icon-button" aria-label={tr('Refresh')} title={tr('Refresh')} onClick={() => void again()}>
          <Icon name="refresh" size={14} />
        </button>
      </div>
      {git.data && (
        <div className="panel-tools branch-line">
          <span className="row branch-name" title={tr('The branch that is checked out')}>
            <Icon name="branch" size={14} />
            <code className="ellipsis">{git.data.branch ?? git.data.head?.slice(0, 8) ?? tr('no commit yet')}</code>
          </span>
          <span className="grow hint">{unpushed(git.data.unpushed)}</span>
          <Publish id={id} status={git.data} onDone={() => void again()} />
        </div>
      )}
      {git.isError && !failure && (
        <p className="banner warn message" role="status">
          {describe(git.error)}
        </p>
      )}
      {failure && (
        <p className="banner bad message" role="alert">
          {describe(failure)}
        </p>
      )}
      {uncommitted > 0 && (
        <form
          className="row commit"
          onSubmit={(e) => {
            e.preventDefault();
            work.mutate(commitAll);
          }}
        >
          <input className="input" aria-label={tr('Message of the commit')} required placeholder={tr('What was changed, and why')} value={message} onChange={(e) => setMessage(e.target.value)} />
          <button className="button primary" disabled={work.isPending}>
            {staged > 0 ? tr('Commit {staged} staged', { staged }) : tr('Commit all')}
          </button>
        </form>
      )}
      {discarding && (
        <Dialog title={tr('Discard the changes?')} onClose={() => setDiscarding(null)}>
          <div className="dialog-form">
            <p>
              {discarding.change.from === undefined
                ? trNodes('{path} becomes what it was at the last commit. This cannot be undone.', { path: <code>{discarding.path}</code> })
                : trNodes('{path} is deleted, and {from} becomes what it was at the last commit. This cannot be undone.', {
                    path: <code>{discarding.path}</code>,
                    from: <code>{discarding.change.from}</code>,
                  })}
            </p>
            <div className="dialog-buttons">
              <button className="button" autoFocus onClick={() => setDiscarding(null)}>
                {tr('Cancel')}
              </button>
              <button
                className="button danger"
                onClick={() => {
                  work.mutate(() => changeFiles(conversation, 'discard', directory, pathsOf(discarding.change)));
                  setDiscarding(null);
                }}
              >
                {tr('Discard')}
              </button>
            </div>
          </div>
        </Dialog>
      )}
      {changes.isSuccess && all.length === 0 && <p className="center">{git.data?.head ? tr('Nothing has changed since the last commit.') : tr('Nothing has changed yet.')}</p>}
      <ChangeList
        rows={all}
        repository={git.data !== undefined}
        conversation={conversation}
        directory={directory}
        step={step}
        split={split}
        busy={work.isPending}
        onStage={(r) => work.mutate(() => changeFiles(conversation, r.staged === 'all' ? 'unstage' : 'stage', directory, pathsOf(r.change)))}
        onDiscard={setDiscarding}
      />
    </div>
  );
}

function unpushed(n: number | null): string {
  if (!n) return '';
  return plural(n, '1 commit not pushed', '{n} commits not pushed');
}
