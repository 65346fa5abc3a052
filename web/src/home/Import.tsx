import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { listsKey, takeRecorded } from '../api/conversations';
import { describe } from '../api/failure';
import { Dialog } from '../design/Dialog';
import { tr } from '../i18n/text';

// Import asks for the file of a recorded conversation, to read or to replay.
export function Import({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  const [file, setFile] = useState<File | null>(null);
  const take = useMutation({
    mutationFn: ({ file, how }: { file: File; how: 'import' | 'replay' }) => takeRecorded(file, how),
    onSuccess: (id) => {
      void queries.invalidateQueries({ queryKey: listsKey });
      onClose();
      navigate(`/conversations/${id}`);
    },
  });
  const off = !file || take.isPending;
  return (
    <Dialog title={tr('Import a conversation')} onClose={onClose}>
      <div className="dialog-form">
        <p>{tr('Read it, or replay it: its actions are done again in a new sandbox with an empty workspace, without a model. Replay only what you trust.')}</p>
        <input className="input" type="file" aria-label={tr('Trajectory (.json) or download (.zip)')} accept=".json,.zip" onChange={(e) => setFile(e.target.files?.[0] ?? null)} />
        {take.isError && (
          <p className="banner bad" role="alert">
            {describe(take.error)}
          </p>
        )}
        <div className="dialog-buttons">
          <button className="button" onClick={onClose}>
            {tr('Cancel')}
          </button>
          <button className="button" disabled={off} onClick={() => file && take.mutate({ file, how: 'replay' })}>
            {tr('Replay')}
          </button>
          <button className="button primary" disabled={off} onClick={() => file && take.mutate({ file, how: 'import' })}>
            {tr('Read')}
          </button>
        </div>
      </div>
    </Dialog>
  );
}
