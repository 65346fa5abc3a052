// byTouch reports whether the page is used with fingers, without a keyboard's keys.
export const byTouch = (): boolean => window.matchMedia('(pointer: coarse)').matches;

// sends reports whether a key in a text of several lines sends it: Enter does, but alone it makes
// a new line where fingers type, whose keyboards have no other key for that.
export function sends(e: React.KeyboardEvent): boolean {
  if (e.key !== 'Enter' || e.shiftKey || e.nativeEvent.isComposing) return false;
  return e.ctrlKey || e.metaKey || !byTouch();
}
