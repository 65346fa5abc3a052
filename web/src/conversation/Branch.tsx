import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { describe } from '../api/failure';
import type { AppRoutes } from '../api/source';
import { Dialog } from '../design/Dialog';

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
  const files = preview.data ? [...preview.data.written.map((f) => `${f} comes back`), ...preview.data.removed.map((f) => `${f} is removed`)] : [];
  const failure = go.error ?? (keep ? null : preview.error);
  return (
    <Dialog title={kind === 'fork' ? 'Fork from here?' : 'Rewind to here?'} onClose={onClose}>
      <div className="dialog-form">
        <p>
          {kind === 'fork'
            ? 'A new conversation begins with the events up to here, in a sandbox of its own with the files as they were then.'
            : 'The conversation and its files go back to this event. What came later stays stored, as another branch.'}
        </p>
        {files.length > 0 && (
          <ul className="hint">
            {files.slice(0, 10).map((f) => (
              <li key={f}>{f}</li>
            ))}
            {files.length > 10 && <li>and {files.length - 10} more</li>}
          </ul>
        )}
        {!keep && preview.data?.checkout && <p className="hint">Git goes back to {preview.data.checkout}. Later commits stay in its reflog.</p>}
        {!keep && preview.data?.checkoutKept && <p className="hint">What Git has checked out stays: {preview.data.checkoutKept}.</p>}
        <label className="row">
          <input type="checkbox" checked={keep} onChange={(e) => setKeep(e.target.checked)} />
          {kind === 'fork' ? 'Work in the same files instead' : 'Leave the files as they are'}
        </label>
        {failure && (
          <p className="banner bad" role="alert">
            {describe(failure)}
          </p>
        )}
        <div className="dialog-buttons">
          <button className="button" onClick={onClose}>
            Cancel
          </button>
          <button className="button primary" disabled={go.isPending || (preview.isFetching && !keep)} onClick={() => go.mutate()}>
            {kind === 'fork' ? 'Fork' : 'Rewind'}
          </button>
        </div>
      </div>
    </Dialog>
  );
}
