// What people write where the address of a model or of another server is asked for.
import { tr } from '../i18n/text';

const scheme = /^([a-z][a-z\d+.-]*):\/\//i;

// Hosts as people write them without a scheme. A key has neither a port nor a path, and its letters are
// not all small ones with a dot between.
const hostOnly = /^(?:localhost|\d{1,3}(?:\.\d{1,3}){3}|\[[\da-f:.]+\]|(?=.*\.)[a-z\d.-]+\.[a-z]{2,})$/;
const hostWithMore = /^([\w.-]+|\[[\da-f:.]+\])(?::\d{1,5}(?:\/\S*)?)$|^(localhost|[\w-]+(?:\.[\w-]+)+|\[[\da-f:.]+\])\/\S*$/i;

// A name with a dot that leads out of the own network.
const isPublic = (host: string): boolean => /\.[a-z]{2,}$/i.test(host) && !/\.(?:local|localhost|lan|home|internal|test|arpa)$/i.test(host);

// addressOf is the address that a text means, which may lack its scheme; empty: the text is none.
export function addressOf(value: string): string {
  const text = value.trim();
  if (/^https?:\/\/./i.test(text)) return text;
  if (scheme.test(text)) return '';
  const found = hostWithMore.exec(text);
  const host = found ? (found[1] ?? found[2] ?? '') : hostOnly.test(text) ? text : '';
  return host && `${isPublic(host) ? 'https' : 'http'}://${text}`;
}

// serverOf is the address that a text means which may be a command, too: without a scheme, an
// address has a port.
export function serverOf(value: string): string {
  return /^(?:https?:\/\/|[^\s/]+:\d)/i.test(value.trim()) ? addressOf(value) : '';
}

// wrongScheme says that a text is the address of anything but a web server; empty: it is not.
export function wrongScheme(value: string): string {
  const found = scheme.exec(value.trim())?.[1]?.toLowerCase() ?? '';
  return found === '' || found === 'http' || found === 'https' ? '' : tr('An address begins with http:// or https://, not with {scheme}://.', { scheme: found });
}
