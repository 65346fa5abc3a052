import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { Link } from 'wouter';
import { describe, Failure } from '../api/failure';
import type { GitStatus } from '../api/git';
import { openPullRequest, originQuery, push, type Origin, type PullRequest } from '../api/publishing';
import { Dialog } from '../design/Dialog';
import { Icon } from '../design/Icon';
import { branchFor } from './changes';
import { plural, tr } from '../i18n/text';
import { trNodes } from '../i18n/nodes';

interface Props {
  id: string;
  status: GitStatus;
  onDone: () => void;
}

// Publish pushes commits to the repository that the conversation was started
// with, and opens a pull request there.
export function Publish({ id, status, onDone }: Props) {
  const origin = useQuery(originQuery(id));
  const [dialog, setDialog] = useState<'push' | 'pull request' | null>(null);
  if (!origin.data) return null;
  if (origin.data.repository === '') {
    return <span className="hint">{tr('Started without a repository: take the patch to push it.')}</span>;
  }
  const made = origin.data.pullRequests;
  return (
    <>
      {made.map(({ number, url }) => (
        <PullRequestLink key={number} url={url} name={tr('Pull request #{number}', { number })}>
          #{number}
        </PullRequestLink>
      ))}
      <button className="button quiet" disabled={status.head === null} onClick={() => setDialog('push')}>
        <Icon name="upload" size={14} /> {tr('Push')}
      </button>
      <button className="button quiet" disabled={status.head === null} onClick={() => setDialog('pull request')}>
        {tr('Pull request')}
      </button>
      {dialog && <PublishDialog id={id} status={status} origin={origin.data} kind={dialog} onDone={onDone} onClose={() => setDialog(null)} />}
    </>
  );
}

interface DialogProps extends Props {
  origin: Origin;
  kind: 'push' | 'pull request';
  onClose: () => void;
}

function PublishDialog({ id, status, origin, kind, onDone, onClose }: DialogProps) {
  const queries = useQueryClient();
  // Until the user changes them, these follow the conversation's title, which the model may write yet.
  const [ownBranch, setBranch] = useState<string | null>(null);
  const [ownTitle, setTitle] = useState<string | null>(null);
  const title = ownTitle ?? origin.title;
  const branch = ownBranch ?? branchFor(status.branch, origin.branch, title);
  const [target, setTarget] = useState(origin.branch);
  const [description, setDescription] = useState('');
  const [draft, setDraft] = useState(false);
  const send = useMutation({
    mutationFn: async (): Promise<PullRequest | null> => {
      await push(id, branch.trim());
      if (kind === 'push') return null;
      return openPullRequest(id, { source: branch.trim(), target: target.trim(), title: title.trim(), description: description.trim(), draft });
    },
    onSettled: () => {
      void queries.invalidateQueries({ queryKey: originQuery(id).queryKey });
      onDone();
    },
  });
  const left = status.files.length;
  return (
    <Dialog title={kind === 'push' ? tr('Push the commits') : tr('Open a pull request')} onClose={onClose}>
      <form
        className="dialog-form"
        onSubmit={(e) => {
          e.preventDefault();
          send.mutate();
        }}
      >
        <p className="hint">
          {trNodes('To {repository}', { repository: <code>{origin.repository}</code> })}
          {left > 0 && `. ${plural(left, '1 file is not committed, and will not be part of it.', '{n} files are not committed, and will not be part of it.')}`}
        </p>
        {left > 0 && status.unpushed === 0 && !send.isSuccess && (
          <p className="banner warn" role="status">
            {tr('No commit is left to push. To propose the changes, commit them first.')}
          </p>
        )}
        {send.isSuccess ? (
          <Done branch={branch.trim()} made={send.data} />
        ) : (
          <>
            {kind === 'pull request' && (
              <>
                <label className="field">
                  <span>{tr('Title')}</span>
                  <input className="input" required maxLength={255} value={title} onChange={(e) => setTitle(e.target.value)} />
                </label>
                <label className="field">
                  <span>{tr('Description')}</span>
                  <textarea className="input" rows={4} placeholder={tr('What the change does, and why')} value={description} onChange={(e) => setDescription(e.target.value)} />
                </label>
              </>
            )}
            <label className="field">
              <span>{kind === 'push' ? tr('Branch') : tr('From the branch')}</span>
              <input className="input mono" required maxLength={255} spellCheck={false} autoCapitalize="off" value={branch} onChange={(e) => setBranch(e.target.value)} />
            </label>
            {kind === 'pull request' && (
              <>
                <label className="field">
                  <span>{tr('Into the branch')}</span>
                  <input
                    className="input mono"
                    maxLength={255}
                    spellCheck={false}
                    autoCapitalize="off"
                    placeholder={tr('the default branch')}
                    value={target}
                    onChange={(e) => setTarget(e.target.value)}
                  />
                </label>
                <label className="row">
                  <input type="checkbox" checked={draft} onChange={(e) => setDraft(e.target.checked)} /> {tr('As a draft')}
                </label>
              </>
            )}
          </>
        )}
        {send.isError && (
          <p className="banner bad message" role="alert">
            <span>{describe(send.error)}</span>
            {send.error instanceof Failure && [401, 403].includes(send.error.status) && <Link href="/settings/git">{tr('Settings of Git hosts')}</Link>}
          </p>
        )}
        <div className="dialog-buttons">
          <button type="button" className="button" onClick={onClose}>
            {send.isSuccess ? tr('Close') : tr('Cancel')}
          </button>
          {!send.isSuccess && (
            <button className="button primary" disabled={send.isPending}>
              {send.isPending ? tr('Sending …') : kind === 'push' ? tr('Push') : tr('Push and open')}
            </button>
          )}
        </div>
      </form>
    </Dialog>
  );
}

function Done({ branch, made }: { branch: string; made: PullRequest | null }) {
  return (
    <p className="banner good" role="status">
      {made === null ? (
        <span>
          {trNodes('The commits are on the branch {branch}.', { branch: <code>{branch}</code> })}
        </span>
      ) : (
        <PullRequestLink url={made.url}>{tr('Pull request #{number}', { number: made.number })}</PullRequestLink>
      )}
      {made?.warning && <span>{made.warning}</span>}
    </p>
  );
}

// PullRequestLink leads to a pull request, if it is known where that is.
function PullRequestLink({ url, name, children }: { url: string; name?: string; children: ReactNode }) {
  if (!/^https?:\/\//.test(url)) return <span title={name}>{children}</span>;
  return (
    <a href={url} target="_blank" rel="noopener noreferrer" aria-label={name} title={name}>
      {children}
    </a>
  );
}
