import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { Conversation } from '../api/conversation';
import { describe } from '../api/failure';
import { answerHooks, type Asked, type Hook } from '../api/hooks';
import { plural, tr } from '../i18n/text';

// HooksAnswer are the answers to the question, of which the given one is not offered.
export function HooksAnswer({ conversation, project, allow = tr('Allow the hooks') }: { conversation: Conversation; project: Asked; allow?: string }) {
  const queries = useQueryClient();
  const answer = useMutation({
    mutationFn: (yes: boolean) => answerHooks(conversation, project, yes),
    onSettled: () => queries.invalidateQueries({ queryKey: ['hooks', conversation.id] }),
  });
  return (
    <div className="hooks-answer">
      {project.answer !== 'refused' && (
        <button className={project.answer === '' ? 'button danger' : 'button'} disabled={answer.isPending} onClick={() => answer.mutate(false)}>
          {tr('Do not run them')}
        </button>
      )}
      {project.answer !== 'allowed' && (
        <button className={project.answer === '' ? 'button primary' : 'button'} disabled={answer.isPending} onClick={() => answer.mutate(true)}>
          {allow}
        </button>
      )}
      {answer.isError && (
        <p className="banner bad" role="alert">
          {describe(answer.error)}
        </p>
      )}
    </div>
  );
}

// Runs shows the hooks and MCP servers of a part, a line each.
export function Runs({ lines }: { lines: string[] }) {
  return (
    <ul className="hooks">
      {lines.map((line, i) => (
        <li key={i}>
          <code>{line}</code>
        </li>
      ))}
    </ul>
  );
}

const kinds: Record<string, string> = { command: tr('runs'), prompt: tr('asks the model'), agent: tr('starts an agent') };

// HookList describes hooks completely.
export function HookList({ hooks }: { hooks: Hook[] }) {
  return (
    <ul className="hooks">
      {hooks.map((h, i) => (
        <li key={i}>
          <strong>{h.event}</strong>
          {h.tools && (
            <>
              {' '}
              <code>{h.tools}</code>
            </>
          )}{' '}
          {kinds[h.kind] ?? h.kind} <code>{h.text}</code>{' '}
          <span className="hint">{h.async ? tr('in the background') : plural(h.seconds, '1 second at most', '{n} seconds at most')}</span>
        </li>
      ))}
    </ul>
  );
}
