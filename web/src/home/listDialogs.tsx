import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { conversationKey, listsKey, remove as removeConversation, rename as renameConversation } from '../api/conversations';
import type { ConversationSummary } from '../api/summary';
import { forgetDraft } from '../conversation/draft';
import { FormDialog } from '../design/FormDialog';
import { tr } from '../i18n/text';

export function Rename({ conversation, onClose }: { conversation: ConversationSummary; onClose: () => void }) {
  const queries = useQueryClient();
  const [title, setTitle] = useState(conversation.title);
  const rename = useMutation({
    mutationFn: () => renameConversation(conversation.id, title.trim()),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: listsKey });
      void queries.invalidateQueries({ queryKey: conversationKey(conversation.id) });
      onClose();
    },
  });
  return (
    <FormDialog title={tr('Rename the conversation')} button={tr('Rename')} ready={title.trim() !== ''} action={rename} onClose={onClose}>
      <input className="input" aria-label={tr('Title')} autoFocus maxLength={200} value={title} onChange={(e) => setTitle(e.target.value)} />
    </FormDialog>
  );
}

export function Remove({ conversation, onClose }: { conversation: ConversationSummary; onClose: () => void }) {
  const queries = useQueryClient();
  const [location, navigate] = useLocation();
  const remove = useMutation({
    mutationFn: () => removeConversation(conversation.id),
    onSuccess: () => {
      forgetDraft(conversation.id);
      void queries.invalidateQueries({ queryKey: listsKey });
      onClose();
      if (location.startsWith(`/conversations/${conversation.id}`)) navigate('/');
    },
  });
  return (
    <FormDialog title={tr('Delete the conversation?')} button={tr('Delete')} danger action={remove} onClose={onClose}>
      <p>{tr('“{title}” and its events are deleted for good.', { title: conversation.title })}</p>
    </FormDialog>
  );
}
