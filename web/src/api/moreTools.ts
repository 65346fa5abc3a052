// Tools of agents beside the tools of the preset.
import { queryOptions } from '@tanstack/react-query';
import { changeSettings, settingsQuery } from './settings';

export const moreToolsQuery = queryOptions({ ...settingsQuery, select: (s): string[] => s.agent_more_tools ?? [] });

export function setMoreTools(names: string[]): Promise<void> {
  return changeSettings({ agent_more_tools: names });
}
