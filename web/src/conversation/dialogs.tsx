import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { listsKey, setTags, singlesKey } from '../api/conversations';
import { archive } from '../api/sandboxes';
import { setupLogQuery } from '../api/startTasks';
import type { ConversationSummary } from '../api/summary';
import { Dialog } from '../design/Dialog';
import { Failed } from '../design/Failed';
import { FormDialog } from '../design/FormDialog';
import { tr } from '../i18n/text';

export function Tags({ summary, onClose }: { summary: ConversationSummary; onClose: () => void }) {
  const queries = useQueryClient();
  const [text, setText] = useState(Object.entries(summary.tags).map(([k, v]) => (v ? `${k}=${v}` : k)).join(' '));
  const save = useMutation({
    mutationFn: () =>
      setTags(
        summary.id,
        Object.fromEntries(
          text
            .split(/[\s,]+/)
            .filter(Boolean)
            .map((t) => [t.split('=')[0] ?? t, t.split('=').slice(1).join('=')]),
        ),
      ),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: singlesKey });
      void queries.invalidateQueries({ queryKey: listsKey });
      onClose();
    },
  });
  return (
    <FormDialog title={tr('Tags')} button={tr('Save')} action={save} onClose={onClose}>
      <input className="input" aria-label={tr('Tags, separated by blanks')} autoFocus placeholder={tr('backend team=web')} value={text} onChange={(e) => setText(e.target.value)} />
    </FormDialog>
  );
}

// SetupLog is the output of the repository's scripts at the start of the conversation.
export function SetupLog({ id, onClose }: { id: string; onClose: () => void }) {
  const log = useQuery(setupLogQuery(id));
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

// Archive deletes the sandbox of a conversation, and keeps its events and its files.
export function Archive({ id, onDone, onClose }: { id: string; onDone: () => Promise<void>; onClose: () => void }) {
  const remove = useMutation({
    mutationFn: async () => {
      await archive(id);
      await onDone();
    },
    onSuccess: onClose,
  });
  return (
    <FormDialog title={tr('Archive the conversation?')} button={tr('Archive')} action={remove} onClose={onClose}>
      <p>{tr('What it does is stopped and its sandbox is deleted. It stays readable, and its files are kept as they are: it can be resumed later.')}</p>
      <p className="hint">{tr('Other conversations in the same sandbox are archived with it. All commits are kept, pushed or not. Directories that tools fill again, such as node_modules, are not.')}</p>
    </FormDialog>
  );
}
