import type { Source } from '../api/source';

export interface Tab {
  name: string;
  label: string;
}

// settingsTabs are the pages of the settings that a server has.
export function settingsTabs(source: Source): Tab[] {
  const app = source.app !== null;
  return [
    { name: 'models', label: 'Models' },
    { name: 'secrets', label: 'Secrets' },
    ...(app
      ? [
          { name: 'safety', label: 'Confirmation' },
          { name: 'sandbox', label: 'Sandbox' },
          { name: 'tools', label: 'MCP servers' },
          { name: 'git', label: 'Git hosts' },
          { name: 'keys', label: 'API keys' },
        ]
      : []),
    { name: 'appearance', label: 'Appearance' },
    { name: 'keyboard', label: 'Keyboard' },
    ...(app ? [{ name: 'import', label: 'Import' }] : []),
  ];
}
