import { useMutation, useQueryClient } from '@tanstack/react-query';
import { conversationKey, listsKey } from '../api/conversations';
import { describe } from '../api/failure';
import { resumeSandbox } from '../api/sandboxes';
import type { ConversationSummary, Sandbox } from '../api/summary';
import { Icon } from '../design/Icon';
import { tr } from '../i18n/text';
import { trNodes } from '../i18n/nodes';

const texts: Record<Exclude<Sandbox, 'running' | 'none'>, { title: string; detail: string; button: string }> = {
  starting: { title: tr('The sandbox is starting'), detail: tr('It will be ready in a moment.'), button: '' },
  paused: { title: tr('The sandbox is paused'), detail: tr('Nothing runs in it; its files are kept. A message resumes it, too.'), button: tr('Resume') },
  archived: {
    title: tr('This conversation is archived'),
    detail: tr('Its sandbox was deleted. Resume it, or send a message, and it gets a new one with the files that it had.'),
    button: tr('Resume'),
  },
  terminal: {
    title: tr('deft run made this conversation'),
    detail: tr('Resume it, or send a message, and it goes on here, in its directory.'),
    button: tr('Resume'),
  },
  lost: {
    title: tr('The sandbox is lost'),
    detail: tr('Its files have vanished, from the server’s disk or with the runtime that had them. Resume it, or send a message, and it gets a new one with the files of its last checkpoint, if it has one: what was changed since then is missing.'),
    button: tr('Resume'),
  },
};

// SandboxNotice says why a conversation does not work now, and has it work again.
export function SandboxNotice({ summary }: { summary: ConversationSummary }) {
  const queries = useQueryClient();
  const resume = useMutation({
    mutationFn: () => resumeSandbox(summary.id),
    onSettled: () => Promise.all([queries.invalidateQueries({ queryKey: conversationKey(summary.id) }), queries.invalidateQueries({ queryKey: listsKey })]),
  });
  if (summary.sandbox === 'running') return null;
  if (summary.sandbox === 'none') {
    return (
      <p className="banner" role="status">
        <span>
          {trNodes('This conversation was imported, or made by another program of Deft, and can only be read here. If it is one of {run}, it goes on with {resume}.', {
            run: <code>deft run</code>,
            resume: <code>deft run --resume {summary.id}</code>,
          })}
        </span>
      </p>
    );
  }
  const { title, detail, button } = texts[summary.sandbox];
  return (
    <section className="sandbox-notice" aria-label={tr('The sandbox')}>
      <Icon name={summary.sandbox === 'lost' ? 'alert' : 'pause'} />
      <p className="grow" role="status">
        <strong>{title}.</strong> {detail} {summary.directory && <code>{summary.directory}</code>}
      </p>
      {button && (
        <button className="button" disabled={resume.isPending} onClick={() => resume.mutate()}>
          <Icon name="play" size={14} /> {resume.isPending ? tr('Starting …') : button}
        </button>
      )}
      {resume.isError && (
        <p className="banner bad" role="alert">
          {describe(resume.error)}
        </p>
      )}
    </section>
  );
}
