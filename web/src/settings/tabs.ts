import type { Source } from '../api/source';
import { tr } from '../i18n/text';

export interface Tab {
  name: string;
  label: string;
}

// settingsTabs are the pages of the settings that a server has.
export function settingsTabs(source: Source): Tab[] {
  const app = source.app !== null;
  return [
    { name: 'models', label: tr('Models') },
    { name: 'secrets', label: tr('Secrets') },
    ...(app
      ? [
          { name: 'safety', label: tr('Confirmation') },
          { name: 'sandbox', label: tr('Sandbox') },
          { name: 'tools', label: tr('MCP servers') },
          { name: 'skills', label: tr('Skills') },
          { name: 'git', label: tr('Git hosts') },
          { name: 'keys', label: tr('API keys') },
        ]
      : []),
    { name: 'appearance', label: tr('Appearance') },
    { name: 'keyboard', label: tr('Keyboard') },
    ...(app ? [{ name: 'import', label: tr('Import') }] : []),
  ];
}
