import { Icon } from '../design/Icon';
import type { Task } from '../events/timeline';

export function Plan({ tasks }: { tasks: Task[] }) {
  return (
    <ul className="plan">
      {tasks.map((t, i) => (
        <li key={i} data-status={t.status}>
          <span className="plan-mark">
            {t.status === 'done' ? <Icon name="check" size={12} /> : <span className={t.status === 'in_progress' ? 'dot running' : 'dot'} />}
          </span>
          <span>
            {t.title}
            <span className="visually-hidden">, {t.status.replace('_', ' ')}</span>
            {t.notes && <small>{t.notes}</small>}
          </span>
        </li>
      ))}
    </ul>
  );
}
