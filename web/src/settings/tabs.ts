import { tr } from '../i18n/text';

export interface Tab {
  name: string;
  label: string;
}

export const settingsTabs: Tab[] = [
  { name: 'models', label: tr('Models') },
  { name: 'secrets', label: tr('Secrets') },
  { name: 'safety', label: tr('Confirmation') },
  { name: 'sandbox', label: tr('Sandbox') },
  { name: 'tools', label: tr('MCP servers') },
  { name: 'skills', label: tr('Skills') },
  { name: 'plugins', label: tr('Plugins') },
  { name: 'git', label: tr('Git hosts') },
  { name: 'keys', label: tr('API keys') },
  { name: 'account', label: tr('Account') },
  { name: 'appearance', label: tr('Appearance') },
  { name: 'keyboard', label: tr('Keyboard') },
  { name: 'import', label: tr('Import') },
];
