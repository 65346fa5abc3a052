// Limits: how much an agent may spend, how many steps it may take, and which hosts it reaches.
import { queryOptions } from '@tanstack/react-query';
import type { Conversation } from './conversation';
import { request } from './http';

export interface Limits {
  steps: number; // of one run
  budgetUSD: number; // 0: no limit
}

interface Answer {
  max_iterations: number;
  max_budget_per_task: number;
}

const read = (a: Answer): Limits => ({ steps: a.max_iterations, budgetUSD: a.max_budget_per_task });

export const written = (l: Limits): Answer => ({ max_iterations: l.steps, max_budget_per_task: l.budgetUSD });

// usualLimitsQuery has the limits of new conversations, and the networks that commands may have, in
// the server's words (docs/network.md): first the usual one; none: it is not limited.
export const usualLimitsQuery = queryOptions({
  queryKey: ['usual-limits'],
  queryFn: async () => {
    const answer = await request<Answer & { networks: string[] }>('GET', '/api/v1/settings/limits');
    return { ...read(answer), networks: answer.networks };
  },
});

export const limitsQuery = (conversation: Conversation) =>
  queryOptions({ queryKey: ['limits', conversation.id], queryFn: async () => read(await conversation.ask<Answer>('GET', 'limits')), staleTime: 0 });

export async function setLimits(conversation: Conversation, limits: Limits): Promise<void> {
  await conversation.ask('POST', 'limits', written(limits));
}
