import { useMutation } from '@tanstack/react-query';
import type { Conversation } from '../api/conversation';
import { describe } from '../api/failure';
import type { EventStore } from '../events/store';
import { useView } from '../events/useView';

const states: Record<string, string> = { complete: 'reached', capped: 'not reached in the allowed rounds', interrupted: 'interrupted' };

// GoalBar shows the goal that the agent works on, what the judge said last, and stops it.
export function GoalBar({ conversation, store }: { conversation: Conversation; store: EventStore }) {
  const goal = useView(store, (v) => v.timeline.goal);
  const change = useMutation({ mutationFn: (action: 'stopGoal' | 'resumeGoal') => conversation[action]() });
  if (!goal) return null;
  const missing = goal.verdict && !goal.verdict.complete ? goal.verdict.missing : '';
  return (
    <section className="goal" aria-label="Goal">
      <p className="grow" role="status">
        <strong>Goal: {goal.objective}.</strong>{' '}
        {goal.active ? `Round ${goal.iteration} of ${goal.max_iterations}.` : `It is ${states[goal.status] ?? goal.status}.`}
        {missing && ` The judge misses: ${missing}`}
      </p>
      {goal.active && (
        <button className="button" disabled={change.isPending} onClick={() => change.mutate('stopGoal')}>
          Stop the goal
        </button>
      )}
      {goal.status === 'interrupted' && (
        <button className="button" disabled={change.isPending} onClick={() => change.mutate('resumeGoal')}>
          Resume the goal
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
