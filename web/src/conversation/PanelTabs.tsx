import { useMemo } from 'react';
import { Link, useLocation } from 'wouter';
import { useCommands } from '../commands/registry';
import { Icon, type IconName } from '../design/Icon';
import { useCurrent } from '../design/row';
import { tr } from '../i18n/text';

// panels are beside a conversation. Some show stored events, and need no sandbox.
export const panels: { name: string; label: string; icon: IconName; stored?: boolean }[] = [
  { name: 'changes', label: tr('Changes'), icon: 'diff' },
  { name: 'files', label: tr('Files'), icon: 'folder' },
  { name: 'terminal', label: tr('Terminal'), icon: 'terminal' },
  { name: 'browser', label: tr('Browser'), icon: 'page', stored: true },
  { name: 'apps', label: tr('Apps'), icon: 'globe' },
  { name: 'plan', label: tr('Plan'), icon: 'list', stored: true },
  { name: 'agent', label: tr('Agent'), icon: 'tool' },
  { name: 'usage', label: tr('Usage'), icon: 'chart', stored: true },
  { name: 'events', label: tr('Events'), icon: 'code', stored: true },
];

// PanelTabs open and close the panels. The palette has them, too.
export function PanelTabs({ id, open }: { id: string; open: string | null }) {
  const [, navigate] = useLocation();
  const row = useCurrent(open);
  const commands = useMemo(
    () => panels.map((p) => ({ id: `panel-${p.name}`, group: tr('Panels'), label: p.label, run: () => navigate(`/conversations/${id}/${p.name}`) })),
    [id, navigate],
  );
  useCommands(commands);
  return (
    <nav ref={row} className="panel-tabs" aria-label={tr('Panels')}>
      {panels.map((p) => (
        <Link
          key={p.name}
          href={open === p.name ? `/conversations/${id}` : `/conversations/${id}/${p.name}`}
          aria-current={open === p.name ? 'true' : undefined}
          className="panel-tab"
          title={p.label}
        >
          <Icon name={p.icon} /> <span>{p.label}</span>
        </Link>
      ))}
    </nav>
  );
}
