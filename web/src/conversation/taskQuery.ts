import { queryOptions } from '@tanstack/react-query';
import { conversationQuery } from '../api/queries';
import type { Source } from '../api/source';

// How often the conversation of a task that is under way is asked for, in milliseconds.
const again = 2000;
const untilThere = 500;

// taskQuery asks for the conversation where a sub-agent works, again and again as long as it
// does: it may not be there yet, and wait for the user when its thread is closed.
export const taskQuery = (source: Source, id: string, working: boolean) =>
  queryOptions({ ...conversationQuery(source, id), refetchInterval: ({ state }) => working && (state.data ? again : untilThere) });
