import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import type { Conversation } from '../api/conversation';
import { describe } from '../api/failure';
import type { EventStore } from '../events/store';
import { useView } from '../events/useView';
import { tr } from '../i18n/text';

const states: Record<string, string> = {
  complete: tr('It is reached.'),
  capped: tr('It is not reached in the allowed rounds.'),
  interrupted: tr('It is interrupted.'),
};

// GoalBar shows the agent's goal and the judge's last words, and stops the goal.
export function GoalBar({ conversation, store }: { conversation: Conversation; store: EventStore }) {
  const goal = useView(store, (v) => v.timeline.goal);
  const change = useMutation({ mutationFn: (action: 'stopGoal' | 'resumeGoal') => conversation[action]() });
  const [hidden, setHidden] = useState<typeof goal>(null); // one that is over
  if (!goal || goal === hidden) return null;
  const missing = goal.verdict && !goal.verdict.complete ? goal.verdict.missing : '';
  return (
    <section className="goal" aria-label={tr('Goal')}>
      <p className="grow" role="status">
        <strong>{tr('Goal: {objective}.', { objective: goal.objective })}</strong>{' '}
        {goal.active ? tr('Round {n} of {all}.', { n: goal.iteration, all: goal.max_iterations }) : (states[goal.status] ?? goal.status)}
        {missing && ` ${tr('The judge misses: {missing}', { missing })}`}
      </p>
      {goal.active && (
        <button className="button" disabled={change.isPending} onClick={() => change.mutate('stopGoal')}>
          {tr('Stop the goal')}
        </button>
      )}
      {!goal.active && (
        <button className="button quiet" onClick={() => setHidden(goal)}>
          {tr('Hide')}
        </button>
      )}
      {goal.status === 'interrupted' && (
        <button className="button" disabled={change.isPending} onClick={() => change.mutate('resumeGoal')}>
          {tr('Resume the goal')}
        </button>
      )}
      {change.isError && (
        <p className="banner bad" role="alert">
          {describe(change.error)}
        </p>
      )}
    </section>
  );
}
