import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { connect } from '../api/conversation';
import { conversation, conversationKey } from '../api/conversations';
import { start as startConversation } from '../api/startTasks';
import type { ConversationSummary } from '../api/summary';
import { Failed } from '../design/Failed';
import { FormDialog } from '../design/FormDialog';
import { tr } from '../i18n/text';

const carryOut = 'Carry out the plan in .agents_tmp/PLAN.md.';

// PlanDialog has a planning agent study a task in the files of the conversation.
export function PlanDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  const [text, setText] = useState('');
  const start = useMutation({
    mutationFn: () => startConversation({ text: text.trim(), images: [], plan: true, parent: id }),
    onSuccess: (started) => {
      void queries.invalidateQueries({ queryKey: conversationKey(id) });
      navigate(`/starting/${started}`);
    },
  });
  return (
    <FormDialog title={tr('Plan first')} button={tr('Plan')} ready={text.trim() !== ''} action={start} onClose={onClose}>
      <p className="hint">{tr('A planning agent studies the task in the files of this conversation, asks what is unclear, and writes a plan. It cannot change anything else.')}</p>
      <textarea className="input" aria-label={tr('What to plan')} autoFocus required rows={4} value={text} onChange={(e) => setText(e.target.value)} />
    </FormDialog>
  );
}

// PlanBar leads from a planning agent to an acting one: in the conversation that the plan is
// a part of, or in a new one with the same files.
export function PlanBar({ summary }: { summary: ConversationSummary }) {
  const [, navigate] = useLocation();
  const act = useMutation({
    mutationFn: async () => {
      const parent = summary.parent && (await conversation(summary.parent));
      if (parent) {
        await connect(parent).send(carryOut, []);
        return `/conversations/${parent.id}`;
      }
      return `/starting/${await startConversation({ text: carryOut, images: [], parent: summary.id })}`;
    },
    onSuccess: (path) => navigate(path),
  });
  return (
    <section className="goal" aria-label={tr('Plan')}>
      <p className="grow">
        <strong>{tr('This agent plans.')}</strong> {tr('It reads, and writes the plan; it cannot change anything else.')}
      </p>
      <button className="button" disabled={act.isPending} onClick={() => act.mutate()}>
        {tr('Act on the plan')}
      </button>
      <Failed error={act.error} />
    </section>
  );
}
