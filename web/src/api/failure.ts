// Failure is an answer of the server that is not a success, or the lack of one.
import { tr } from '../i18n/text';

export class Failure extends Error {
  constructor(
    readonly status: number, // 0 if the server could not be reached
    message: string,
  ) {
    super(message);
    this.name = 'Failure';
  }

  get unauthorized(): boolean {
    return this.status === 401;
  }
}

// readFailure makes a Failure of an answer. Servers say why in `detail`, a text,
// an object or a list of violations; older routes in `message` or `error`.
export async function readFailure(response: Response): Promise<Failure> {
  const text = await response.text().catch(() => '');
  return new Failure(response.status, withoutFlags(reasonIn(text)) || tr('The server answered {status} {text}', { status: response.status, text: response.statusText }).trim());
}

export function reasonIn(text: string): string {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return text.length < 300 && !text.trimStart().startsWith('<') ? text.trim() : '';
  }
  if (typeof body === 'string') return body;
  const { detail, message, error, exception } = (body ?? {}) as Record<string, unknown>;
  if (typeof exception === 'string' && exception) return exception; // detail says only that it is the server's
  const reason = detail ?? message ?? error;
  if (typeof reason === 'string') return reason;
  if (Array.isArray(reason)) {
    return reason
      .map((v: { loc?: unknown[]; msg?: string }) => [v.loc?.filter((p) => p !== 'body').join('.'), v.msg].filter(Boolean).join(': '))
      .join('; ');
  }
  const inner = (reason ?? {}) as { message?: unknown; detail?: unknown };
  const said = inner.message ?? inner.detail;
  return typeof said === 'string' ? said : '';
}

// withoutFlags is a message of the server without the flags of commands that it names in
// parentheses: the page has none.
export const withoutFlags = (message: string): string => message.replace(/ \(--[a-z][\w-]*(?: [A-Z]+ [^()]*)?\)/g, '');

// describe words a failure for people.
export function describe(error: unknown): string {
  if (error instanceof Failure) return error.status === 0 ? tr('The server cannot be reached.') : error.message;
  return error instanceof Error ? error.message : String(error);
}
