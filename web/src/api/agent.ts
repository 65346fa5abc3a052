// The agent of one conversation: its model, its rules, and its equipment.
import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import type { Conversation } from './conversation';
import type { components } from './generated/agent-server';

export type ConversationInfo = components['schemas']['ConversationInfo'];

// Equipment are the tools and skills that the agent can use.
export interface Equipment {
  tools: { name: string; description: string; parameters: unknown }[];
  skills: { name: string; type: string; description: string | null; content: string; triggers: string[]; source: string | null }[];
  warnings: string[];
}

// SystemPrompt is the first text for the model.
export interface SystemPrompt {
  fixed: string;
  dynamic: string; // the part that differs between conversations; may be empty
}

async function info(conversation: Conversation): Promise<ConversationInfo> {
  const { data } = await conversation.client.GET('/api/conversations/{conversation_id}', { params: { path: conversation.path } });
  return data as ConversationInfo;
}

export const infoQuery = (conversation: Conversation) => queryOptions({ queryKey: ['info', conversation.id], queryFn: () => info(conversation), staleTime: 0 });

// statsQuery asks for the usage of the models anew when the spent tokens change.
export const statsQuery = (conversation: Conversation, spent: number) =>
  queryOptions({ queryKey: ['usage', conversation.id, spent], queryFn: async () => (await info(conversation)).stats, placeholderData: keepPreviousData, retry: false });

// systemPrompt is null before the first message.
async function systemPrompt(conversation: Conversation): Promise<SystemPrompt | null> {
  const { data } = await conversation.client.GET('/api/conversations/{conversation_id}/events/search', {
    params: { path: conversation.path, query: { kind: 'SystemPromptEvent', limit: 1, sort_order: 'TIMESTAMP_DESC' } },
  });
  type Found = { system_prompt?: { text?: string }; dynamic_context?: { text?: string } | null };
  const [found] = (data as { items: Found[] }).items;
  return found ? { fixed: found.system_prompt?.text ?? '', dynamic: found.dynamic_context?.text ?? '' } : null;
}

export const systemPromptQuery = (conversation: Conversation) =>
  queryOptions({ queryKey: ['system-prompt', conversation.id], queryFn: () => systemPrompt(conversation), retry: false });

export const equipmentQuery = (conversation: Conversation) =>
  queryOptions({ queryKey: ['equipment', conversation.id], queryFn: () => conversation.ask<Equipment>('GET', 'equipment'), retry: false });

export async function switchProfile(conversation: Conversation, name: string): Promise<void> {
  await conversation.ask('POST', 'switch_profile', { profile_name: name });
}
