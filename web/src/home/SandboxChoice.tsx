import { useQuery } from '@tanstack/react-query';
import { usedSandboxesQuery } from '../api/sandboxes';
import { tr } from '../i18n/text';

interface Props {
  sandbox: string; // empty: a new one
  onSandbox: (id: string) => void;
}

// SandboxChoice lets a task work in the sandbox of an earlier one, with its files.
export function SandboxChoice({ sandbox, onSandbox }: Props) {
  const used = useQuery(usedSandboxesQuery);
  // It is there before its choices are known, so that nothing moves when they come.
  const choices = used.data ?? [];
  return (
    <label className="home-where">
      <span>{tr('Sandbox')}</span>
      <select className="model-select sandbox-select" disabled={choices.length === 0} value={sandbox} onChange={(e) => onSandbox(e.target.value)}>
        <option value="">{tr('a new sandbox')}</option>
        {choices.map(({ id, titles }) => (
          <option key={id} value={id}>
            {tr('with {titles}', { titles: titles.slice(0, 2).join(', ') + (titles.length > 2 ? ' …' : '') })}
          </option>
        ))}
      </select>
    </label>
  );
}
