import { visible } from './visible';

// setTitle sets the title of the tab.
export function setTitle(text = ''): void {
  document.title = text === '' ? 'Deft' : `${visible(text)} · Deft`;
}
