import { Plan } from '../conversation/Plan';
import type { Task } from '../events/timeline';
import { tr } from '../i18n/text';

// PlanPanel shows the agent's list of tasks as it is now.
export function PlanPanel({ tasks }: { tasks: Task[] }) {
  if (tasks.length === 0) return <p className="center">{tr('The agent keeps no list of tasks yet.')}</p>;
  const done = tasks.filter((t) => t.status === 'done').length;
  return (
    <div className="panel-body">
      <div className="panel-tools">
        <span className="hint" role="status">
          {tr('{done} of {all} done', { done, all: tasks.length })}
        </span>
      </div>
      <Plan tasks={tasks} />
    </div>
  );
}
