import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { useSource } from '../api/context';
import { describe } from '../api/failure';
import type { ConversationSummary } from '../api/source';
import { Dialog } from '../design/Dialog';
import { tr } from '../i18n/text';

export function Rename({ conversation, onClose }: { conversation: ConversationSummary; onClose: () => void }) {
  const source = useSource();
  const queries = useQueryClient();
  const [title, setTitle] = useState(conversation.title);
  const rename = useMutation({
    mutationFn: () => source.rename(conversation.id, title.trim()),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ['conversations'] });
      void queries.invalidateQueries({ queryKey: ['conversation', conversation.id] });
      onClose();
    },
  });
  return (
    <Dialog title={tr('Rename the conversation')} onClose={onClose}>
      <form
        className="dialog-form"
        onSubmit={(e) => {
          e.preventDefault();
          rename.mutate();
        }}
      >
        <input className="input" aria-label={tr('Title')} autoFocus maxLength={200} value={title} onChange={(e) => setTitle(e.target.value)} />
        {rename.isError && (
          <p className="banner bad" role="alert">
            {describe(rename.error)}
          </p>
        )}
        <div className="dialog-buttons">
          <button type="button" className="button" onClick={onClose}>
            {tr('Cancel')}
          </button>
          <button className="button primary" disabled={!title.trim() || rename.isPending}>
            {tr('Rename')}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

export function Remove({ conversation, onClose }: { conversation: ConversationSummary; onClose: () => void }) {
  const source = useSource();
  const queries = useQueryClient();
  const [location, navigate] = useLocation();
  const remove = useMutation({
    mutationFn: () => source.remove(conversation.id),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ['conversations'] });
      onClose();
      if (location.startsWith(`/conversations/${conversation.id}`)) navigate('/');
    },
  });
  return (
    <Dialog title={tr('Delete the conversation?')} onClose={onClose}>
      <div className="dialog-form">
        <p>{tr('“{title}” and its events are deleted for good.', { title: conversation.title })}</p>
        {remove.isError && (
          <p className="banner bad" role="alert">
            {describe(remove.error)}
          </p>
        )}
        <div className="dialog-buttons">
          <button className="button" autoFocus onClick={onClose}>
            {tr('Cancel')}
          </button>
          <button className="button danger" disabled={remove.isPending} onClick={() => remove.mutate()}>
            {tr('Delete')}
          </button>
        </div>
      </div>
    </Dialog>
  );
}
