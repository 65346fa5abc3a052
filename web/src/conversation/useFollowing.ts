import { createContext, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState, type MouseEvent, type RefObject } from 'react';

// near is how close to an end counts as being there, in pixels.
export const near = 60;

export interface Following {
  scroller: RefObject<HTMLDivElement | null>;
  following: RefObject<boolean>;
  away: boolean; // the end is out of view, and not followed
  settle: () => void; // rows or the list have another size
  scrolled: () => void;
  clicked: (e: MouseEvent) => void; // somewhere in the list, before the click has an effect
  leave: () => void; // for another place
  follow: () => void; // go to the end, and stay there
}

// FollowingContext says whether the end of the list is followed, for threads in its rows.
export const FollowingContext = createContext<RefObject<boolean>>({ current: true });

// useFollowing keeps the end of a list in view, whatever grows or wraps anew, until its user
// scrolls up, opens a row or selects text. Scrolling down to the end follows it again. ends: the newest row is
// in the list; a list without it is not followed.
export function useFollowing(ends: boolean): Following {
  const whole = useRef(ends);
  useLayoutEffect(() => {
    whole.current = ends;
  }, [ends]);
  const scroller = useRef<HTMLDivElement>(null);
  const following = useRef(true);
  const closing = useRef(false); // a row was closed or a selection ended, and nothing scrolled since
  const seen = useRef(0); // where the list was
  const end = useRef(0); // and where its end was, as it was painted
  const [away, setAway] = useState(false);

  const settle = useCallback(() => {
    const list = scroller.current;
    if (!list) return;
    if (closing.current && whole.current && below(list) <= near) following.current = true;
    if (following.current) {
      list.scrollTop += below(list);
      seen.current = list.scrollTop;
    }
    end.current = list.scrollTop + below(list);
    setAway(!following.current && (!whole.current || below(list) > near));
  }, []);

  const scrolled = useCallback(() => {
    const list = scroller.current;
    if (!list || list.scrollTop === seen.current) return;
    // The user goes to the painted end; later additions are not painted yet.
    const left = Math.min(below(list), end.current - list.scrollTop);
    following.current = whole.current && followsAfter(following.current, seen.current, list.scrollTop, left);
    closing.current = false;
    seen.current = list.scrollTop;
    settle();
  }, [settle]);

  const clicked = useCallback((e: MouseEvent) => {
    const fold = (e.target as Element).closest('[aria-expanded]:not([aria-haspopup]), .action-details button, .thread-earlier');
    if (!fold) return;
    following.current = false;
    closing.current = fold.getAttribute('aria-expanded') === 'true';
  }, []);

  const leave = useCallback(() => {
    following.current = false;
    closing.current = false;
  }, []);

  const follow = useCallback(() => {
    following.current = true;
    settle();
  }, [settle]);

  useEffect(() => {
    let selected = false; // text of the list
    const look = () => {
      const now = document.getSelection();
      const was = selected;
      selected = now !== null && !now.isCollapsed && scroller.current?.contains(now.anchorNode) === true;
      if (selected && !was) leave();
      if (!selected && was) closing.current = true;
      if (selected !== was) settle();
    };
    document.addEventListener('selectionchange', look);
    return () => document.removeEventListener('selectionchange', look);
  }, [leave, settle]);

  return useMemo(() => ({ scroller, following, away, settle, scrolled, clicked, leave, follow }), [away, settle, scrolled, clicked, leave, follow]);
}

// sizeOf is the height of a list's rows as far as it is measured. A row that is new, or the menu of
// the last one, reaches out of it: the virtualizer does not know a place behind its end, and draws
// no row there.
const sizeOf = (list: Element) => Math.max(list.clientHeight, list.firstElementChild?.clientHeight ?? 0);

const below = (list: Element) => sizeOf(list) - list.clientHeight - list.scrollTop;

// followsAfter reports whether the end is followed after a list has scrolled. While it is
// followed each change of size is answered at once by going to the end, so that only its
// user moves a list up; and a shorter list stays at its end.
export function followsAfter(following: boolean, before: number, now: number, left: number): boolean {
  if (left <= 1) return true;
  if (now < before) return false;
  return following || left <= near;
}
