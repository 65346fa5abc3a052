import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { hostsQuery, suggestedTasksQuery, type SuggestedTask } from '../api/gitHosts';
import { Icon } from '../design/Icon';
import type { Choice } from './Repository';
import { drop, keep, templates } from './templates';
import { tr } from '../i18n/text';

const examples = [
  tr('Explain how this project is built and tested'),
  tr('Find the slowest test and make it faster'),
  tr('Write a small web page with a clock and show me how to open it'),
];

interface Props {
  text: string; // of the task that is being written
  onText: (text: string) => void;
  onTask: (text: string, choice: Choice) => void;
}

// Suggestions are tasks to begin with: issues and pull requests of the user's Git hosts,
// templates, or examples.
export function Suggestions({ text, onText, onTask }: Props) {
  const [kept, setKept] = useState(templates);
  const written = text.trim();
  return (
    <>
      {written && !kept.includes(written) && (
        <button className="link keep" onClick={() => setKept(keep(written))}>
          {tr('Keep as a template in this browser')}
        </button>
      )}
      <Suggested onTask={onTask} />
      {kept.length > 0 && (
        <section className="at-work" aria-labelledby="templates-title">
          <h2 id="templates-title">{tr('Templates')}</h2>
          <ul className="examples">
            {kept.map((t) => (
              <li key={t} className="row">
                <button className="grow ellipsis" onClick={() => onText(t)}>
                  {t}
                </button>
                <button className="icon-button" aria-label={tr('Remove the template {text}', { text: t })} onClick={() => setKept(drop(t))}>
                  <Icon name="close" size={12} />
                </button>
              </li>
            ))}
          </ul>
        </section>
      )}
      {kept.length === 0 && (
        <ul className="examples" aria-label={tr('Examples')}>
          {examples.map((example) => (
            <li key={example}>
              <button onClick={() => onText(example)}>{example}</button>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

const kinds: Record<string, { label: string; task: (t: SuggestedTask) => string }> = {
  OPEN_ISSUE: { label: tr('Issue'), task: (t) => tr('Work on issue #{number} of {repository}, “{title}”: read it, solve it on a branch of its own, and open a pull request.', { number: t.number, repository: t.repository, title: t.title }) },
  FAILING_CHECKS: { label: tr('Checks fail'), task: (t) => tr('The checks of pull request #{number} of {repository}, “{title}”, fail. Find out why and mend its branch.', { number: t.number, repository: t.repository, title: t.title }) },
  MERGE_CONFLICTS: { label: tr('Conflicts'), task: (t) => tr('Pull request #{number} of {repository}, “{title}”, has merge conflicts. Merge the target branch into its branch and resolve them.', { number: t.number, repository: t.repository, title: t.title }) },
  UNRESOLVED_COMMENTS: { label: tr('Comments'), task: (t) => tr('Pull request #{number} of {repository}, “{title}”, has unresolved comments. Work through them on its branch.', { number: t.number, repository: t.repository, title: t.title }) },
};

// Suggested are issues and pull requests of the user that want something done.
function Suggested({ onTask }: Pick<Props, 'onTask'>) {
  const hosts = useQuery(hostsQuery);
  const tasks = useQuery({ ...suggestedTasksQuery, enabled: Object.keys(hosts.data ?? {}).length > 0 });
  const shown = (tasks.data ?? []).filter((t) => kinds[t.type]).slice(0, 6);
  if (shown.length === 0) return null;
  return (
    <section className="at-work" aria-labelledby="suggested-title">
      <h2 id="suggested-title">{tr('Suggested')}</h2>
      <ul className="examples">
        {shown.map((t) => (
          <li key={`${t.provider} ${t.repository} ${t.type} ${t.number}`}>
            <button className="suggested" onClick={() => onTask(kinds[t.type]?.task(t) ?? t.title, { repository: t.repository, branch: '', provider: t.provider })}>
              <span className="tag">{kinds[t.type]?.label}</span>
              <span className="grow ellipsis">{t.title}</span>
              <span className="hint">
                {t.repository} #{t.number}
              </span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
