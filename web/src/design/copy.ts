import { tr } from '../i18n/text';

// copy puts a text on the clipboard, and reports whether the browser allows it: pages that
// come without TLS from another machine have no clipboard. Of a refused one the place where it
// is shown is selected.
export async function copy(text: string, place?: Element | null): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    if (place) getSelection()?.selectAllChildren(place);
    return false;
  }
}

export const outcomeText = (copied: boolean): string => (copied ? tr('Copied') : tr('The browser does not allow it: select and copy it.'));

const region = document.createElement('div');
region.className = 'visually-hidden';
region.setAttribute('role', 'status');
document.body.append(region);

// announce has screen readers say a text. It has to differ from the one before to be heard.
export function announce(text: string): void {
  region.textContent = region.textContent === text ? `${text}\u00a0` : text;
}
