import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useSource } from '../api/context';
import type { AppRoutes, ConversationSummary } from '../api/source';
import { Dialog } from '../design/Dialog';
import { Failed } from '../design/Failed';
import { FormDialog } from '../design/FormDialog';
import { tr } from '../i18n/text';

export function Tags({ summary, onClose }: { summary: ConversationSummary; onClose: () => void }) {
  const source = useSource();
  const queries = useQueryClient();
  const [text, setText] = useState(Object.entries(summary.tags).map(([k, v]) => (v ? `${k}=${v}` : k)).join(' '));
  const save = useMutation({
    mutationFn: () =>
      source.setTags(
        summary.id,
        Object.fromEntries(
          text
            .split(/[\s,]+/)
            .filter(Boolean)
            .map((t) => [t.split('=')[0] ?? t, t.split('=').slice(1).join('=')]),
        ),
      ),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ['conversation'] });
      void queries.invalidateQueries({ queryKey: ['conversations'] });
      onClose();
    },
  });
  return (
    <FormDialog title={tr('Tags')} button={tr('Save')} action={save} onClose={onClose}>
      <input className="input" aria-label={tr('Tags, separated by blanks')} autoFocus placeholder={tr('backend team=web')} value={text} onChange={(e) => setText(e.target.value)} />
    </FormDialog>
  );
}

// SetupLog is what the repository's scripts printed when the conversation was started.
export function SetupLog({ app, id, onClose }: { app: AppRoutes; id: string; onClose: () => void }) {
  const log = useQuery({ queryKey: ['setup-log', id], queryFn: () => app.setupLog(id) });
  return (
    <Dialog title={tr('Set-up log')} onClose={onClose}>
      <div className="dialog-form">
        {log.data === '' && <p className="hint">{tr('Nothing was set up, or it printed nothing.')}</p>}
        {log.data && (
          <pre className="code output" tabIndex={0} role="region" aria-label={tr('Log of the setup')}>
            {log.data}
          </pre>
        )}
        <Failed error={log.error} />
        <div className="dialog-buttons">
          <button className="button" autoFocus onClick={onClose}>
            {tr('Close')}
          </button>
        </div>
      </div>
    </Dialog>
  );
}

// Archive deletes the sandbox of a conversation, and keeps what can be read and its files.
export function Archive({ app, id, onDone, onClose }: { app: AppRoutes; id: string; onDone: () => Promise<void>; onClose: () => void }) {
  const archive = useMutation({
    mutationFn: async () => {
      await app.archive(id);
      await onDone();
    },
    onSuccess: onClose,
  });
  return (
    <FormDialog title={tr('Archive the conversation?')} button={tr('Archive')} action={archive} onClose={onClose}>
      <p>{tr('What it does is stopped and its sandbox is deleted. It stays readable, and its files are kept as they are: it can be resumed later.')}</p>
      <p className="hint">{tr('Other conversations in the same sandbox are archived with it. Commits that were not pushed are lost; the files of the work tree are not.')}</p>
    </FormDialog>
  );
}
