import type { Conversation } from '../api/conversation';
import type { Timeline } from '../events/timeline';
import { Plan } from './Plan';
import { PlanFile } from './PlanFile';
import { tr } from '../i18n/text';

// PlanPanel shows the agent's list of tasks as it is now, and the plan that an agent has written.
export function PlanPanel({ conversation, timeline }: { conversation: Conversation; timeline: Timeline }) {
  const tasks = timeline.plan;
  const done = tasks.filter((t) => t.status === 'done').length;
  return (
    <div className="panel-body">
      {tasks.length > 0 && (
        <>
          <div className="panel-tools">
            <span className="hint" role="status">
              {tr('{done} of {all} done', { done, all: tasks.length })}
            </span>
          </div>
          <Plan tasks={tasks} />
        </>
      )}
      <PlanFile conversation={conversation} timeline={timeline} none={tasks.length === 0} />
    </div>
  );
}
