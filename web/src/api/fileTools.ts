// Tools with which agents change files: families of models know different ones.
import { queryOptions } from '@tanstack/react-query';
import { changeSettings, settingsQuery } from './settings';

// FileTools are presets of tools (docs/tools.md).
export type FileTools = 'default' | 'gpt5' | 'gemini';

export const fileToolsQuery = queryOptions({ ...settingsQuery, select: (s): FileTools => s.agent_preset ?? 'default' });

export function setFileTools(preset: FileTools): Promise<void> {
  return changeSettings({ agent_preset: preset });
}
