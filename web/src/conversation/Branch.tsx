import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { describe } from '../api/failure';
import type { AppRoutes } from '../api/source';
import { Dialog } from '../design/Dialog';
import { number, tr } from '../i18n/text';

interface Props {
  app: AppRoutes;
  id: string;
  event: string;
  kind: 'fork' | 'rewind';
  onClose: () => void;
}

// Branch goes on from an earlier event: here, or in a copy. The files come along.
export function Branch({ app, id, event, kind, onClose }: Props) {
  const [, navigate] = useLocation();
  const [keep, setKeep] = useState(false);
  const preview = useQuery({
    queryKey: ['undo', id, event],
    queryFn: () => app.undo(id, event, false, true),
    enabled: kind === 'rewind',
    retry: false,
    gcTime: 0,
  });
  const go = useMutation({
    mutationFn: async () => {
      if (kind === 'fork') navigate(`/conversations/${await app.fork(id, event, keep)}`);
      else {
        await app.undo(id, event, keep, false);
        window.location.reload(); // the branch that is shown is another one
      }
    },
    onSuccess: onClose,
  });
  const files = preview.data ? [...preview.data.written.map((f) => tr('{file} comes back', { file: f })), ...preview.data.removed.map((f) => tr('{file} is removed', { file: f }))] : [];
  const failure = go.error ?? (keep ? null : preview.error);
  return (
    <Dialog title={kind === 'fork' ? tr('Fork from here?') : tr('Rewind to here?')} onClose={onClose}>
      <div className="dialog-form">
        <p>
          {kind === 'fork'
            ? tr('A new conversation begins with the events up to here, in a sandbox of its own with the files as they were then.')
            : tr('The conversation and its files go back to this event. What came later stays stored, as another branch.')}
        </p>
        {files.length > 0 && (
          <ul className="hint">
            {files.slice(0, 10).map((f) => (
              <li key={f}>{f}</li>
            ))}
            {files.length > 10 && <li>{tr('and {n} more', { n: number(files.length - 10) })}</li>}
          </ul>
        )}
        {!keep && preview.data?.checkout && <p className="hint">{tr('Git goes back to {commit}. Later commits stay in its reflog.', { commit: preview.data.checkout })}</p>}
        {!keep && preview.data?.checkoutKept && <p className="hint">{tr('What Git has checked out stays: {reason}.', { reason: preview.data.checkoutKept })}</p>}
        <label className="row">
          <input type="checkbox" checked={keep} onChange={(e) => setKeep(e.target.checked)} />
          {kind === 'fork' ? tr('Work in the same files instead') : tr('Leave the files as they are')}
        </label>
        {failure && (
          <p className="banner bad" role="alert">
            {describe(failure)}
          </p>
        )}
        <div className="dialog-buttons">
          <button className="button" onClick={onClose}>
            {tr('Cancel')}
          </button>
          <button className="button primary" disabled={go.isPending || (preview.isFetching && !keep)} onClick={() => go.mutate()}>
            {kind === 'fork' ? tr('Fork') : tr('Rewind')}
          </button>
        </div>
      </div>
    </Dialog>
  );
}
