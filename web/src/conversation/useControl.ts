import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useState } from 'react';
import type { Conversation } from '../api/conversation';
import { conversationKey } from '../api/conversations';
import { describe } from '../api/failure';

// Control starts and stops the agent of a conversation.
export interface Control {
  run: () => void;
  pause: () => void;
  pausing: boolean; // the agent pauses when its step has ended
  interrupt: () => void;
  condense: () => void;
  condensing: boolean;
  error: Error | null; // of run, pause or interrupt
}

// useControl also binds Ctrl+., which interrupts a running agent.
export function useControl(conversation: Conversation, id: string, running: boolean, onFailure: (text: string) => void): Control {
  const queries = useQueryClient();
  const [pausing, setPausing] = useState(false);
  if (pausing && !running) setPausing(false);
  const { mutate, error } = useMutation({
    mutationFn: (action: 'run' | 'pause' | 'interrupt') => conversation[action](),
    onSuccess: (_, action) => setPausing(action === 'pause'),
    onSettled: () => void queries.invalidateQueries({ queryKey: conversationKey(id) }),
  });
  const { mutate: condense, isPending: condensing } = useMutation({ mutationFn: () => conversation.condense(), onError: (failed) => onFailure(describe(failed)) });
  const interrupt = useCallback(() => mutate('interrupt'), [mutate]);
  useEffect(() => {
    if (!running) return;
    const onKey = (e: KeyboardEvent) => {
      if (e.key !== '.' || !(e.ctrlKey || e.metaKey)) return;
      e.preventDefault();
      interrupt();
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, [running, interrupt]);
  return useMemo(
    () => ({ run: () => mutate('run'), pause: () => mutate('pause'), pausing, interrupt, condense: () => condense(), condensing, error }),
    [mutate, pausing, interrupt, condense, condensing, error],
  );
}
