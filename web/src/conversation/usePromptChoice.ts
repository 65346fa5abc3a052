import { skipToken, useQuery } from '@tanstack/react-query';
import { useLayoutEffect, useRef, useState, type KeyboardEvent, type RefObject } from 'react';
import type { PromptOffer, PromptsQuery } from '../api/prompts';
import { matching, namedBy, withCommand, wordAt } from './promptCommand';

export interface PromptChoice {
  open: boolean; // there is something to show
  shown: PromptOffer[];
  active: number; // of shown; -1: none
  loading: boolean;
  failure: Error | null;
  warnings: string[];
  named: PromptOffer | undefined; // the prompt that the message names, with its arguments behind
  onKey: (e: KeyboardEvent) => boolean; // true: the list has used the key
  onCaret: (box: HTMLTextAreaElement) => void;
  onFocus: (focused: boolean) => void;
  activate: (at: number) => void;
  choose: (offer: PromptOffer) => void;
}

const none: PromptOffer[] = [];

// usePromptChoice completes the commands of prompts at the beginning of a message. The servers are
// asked when a message begins with a slash.
export function usePromptChoice(prompts: PromptsQuery | undefined, text: string, onText: (text: string) => void, box: RefObject<HTMLTextAreaElement | null>): PromptChoice {
  const [caret, setCaret] = useState(0);
  const [focused, setFocused] = useState(false);
  const [closed, setClosed] = useState(false); // by Escape, until another word begins
  const [choice, setChoice] = useState({ written: '', at: 0 });
  const moved = useRef<number | null>(null); // where the caret belongs once the text is in the box
  const asks = prompts !== undefined && focused && text.trimStart().startsWith('/');
  const query = useQuery(prompts && asks ? prompts : { queryKey: prompts?.queryKey ?? ['prompts', ''], queryFn: skipToken });

  useLayoutEffect(() => {
    if (moved.current === null) return;
    box.current?.setSelectionRange(moved.current, moved.current);
    moved.current = null;
  }, [text, box]);

  const word = asks ? wordAt(text, caret) : null;
  if (!word && closed) setClosed(false);
  const offers = query.data?.prompts ?? none;
  const shown = word ? matching(offers, word.written) : none;
  const warnings = query.data?.warnings ?? [];
  // Most words with a slash are paths: nothing is said about servers then.
  const alone = word?.written === '/';
  const open = word !== null && !closed && (shown.length > 0 || (alone && (query.isPending || query.isError || warnings.length > 0)));
  const active = !open ? -1 : choice.written === word.written ? Math.min(choice.at, shown.length - 1) : Math.min(0, shown.length - 1);
  const activate = (at: number) => setChoice({ written: word?.written ?? '', at });

  const choose = (offer: PromptOffer) => {
    if (!word) return;
    const next = withCommand(text, word, offer.command);
    moved.current = next.caret;
    setCaret(next.caret);
    onText(next.text);
    box.current?.focus();
  };

  const onKey = (e: KeyboardEvent): boolean => {
    if (!open || e.nativeEvent.isComposing) return false;
    if (e.key === 'Escape') {
      setClosed(true);
      box.current?.focus(); // the list may have it
    }
    else if (shown.length === 0) return false;
    else if (e.key === 'ArrowDown') activate((active + 1) % shown.length);
    else if (e.key === 'ArrowUp') activate((active + shown.length - 1) % shown.length);
    else if (e.key === 'Enter' && !e.shiftKey && !e.ctrlKey && !e.metaKey) {
      const offer = shown[active];
      if (!offer || offer.command === text.slice(word.from, word.to)) return false; // it is written already
      choose(offer);
    } else return false;
    e.preventDefault();
    e.stopPropagation();
    return true;
  };

  return {
    open,
    shown,
    active,
    loading: query.isPending,
    failure: query.error,
    warnings,
    named: asks && !open ? namedBy(offers, text) : undefined,
    onKey,
    onCaret: (now) => setCaret(now.selectionStart === now.selectionEnd ? now.selectionEnd : -1),
    onFocus: setFocused,
    activate,
    choose,
  };
}
