// Queries that several parts of the page ask, so that they share one answer.
import { queryOptions } from '@tanstack/react-query';
import { detectSource } from './detect';
import type { Source } from './source';

// sourceQuery finds the server of this page, once.
export const sourceQuery = queryOptions({ queryKey: ['source'], queryFn: detectSource, staleTime: Infinity });

export const modelQuery = (source: Source) => queryOptions({ queryKey: ['model'], queryFn: () => source.model() });

export const conversationQuery = (source: Source, id: string) => queryOptions({ queryKey: ['conversation', id], queryFn: () => source.conversation(id) });
