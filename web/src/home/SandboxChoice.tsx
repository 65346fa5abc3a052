import { useQuery } from '@tanstack/react-query';
import type { AppRoutes } from '../api/source';
import { tr } from '../i18n/text';

interface Props {
  app: AppRoutes;
  sandbox: string; // empty: a new one
  onSandbox: (id: string) => void;
}

// SandboxChoice lets a task work in the sandbox of an earlier one, with its files.
export function SandboxChoice({ app, sandbox, onSandbox }: Props) {
  // A task gets its title, and a sandbox its end, while the page is open.
  const used = useQuery({ queryKey: ['conversations', 'sandboxes'], queryFn: () => app.usedSandboxes(), refetchInterval: 5000 });
  // It is there before its choices are known, so that nothing moves when they come.
  const choices = used.data ?? [];
  return (
    <label className="home-where">
      <span>{tr('Sandbox')}</span>
      <select className="model-select sandbox-select" disabled={choices.length === 0} value={sandbox} onChange={(e) => onSandbox(e.target.value)}>
        <option value="">{tr('a new sandbox')}</option>
        {choices.map(({ id, titles }) => (
          <option key={id} value={id}>
            {tr('that of {titles}', { titles: titles.slice(0, 2).join(', ') + (titles.length > 2 ? ' …' : '') })}
          </option>
        ))}
      </select>
    </label>
  );
}
