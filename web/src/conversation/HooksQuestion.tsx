import { useQuery } from '@tanstack/react-query';
import type { Conversation } from '../api/conversation';
import { hooksQuery, listed, type Hooks } from '../api/hooks';
import type { Readable } from '../events/store';
import { useView } from '../events/useView';
import { tr } from '../i18n/text';
import { HookList, HooksAnswer, Runs } from '../panels/Hooks';

// HooksQuestion asks whether the hooks of the project, and the programs of its plugins and agents, may run, while
// there is no answer.
export function HooksQuestion({ conversation, store }: { conversation: Conversation; store: Readable }) {
  // The agent may have changed the file in a run.
  const change = useView(store, (v) => `${v.timeline.hooks} ${v.timeline.status === 'running'}`);
  const hooks = useQuery({ ...hooksQuery(conversation, change), placeholderData: (before) => before });
  if (!hooks.data) return null;
  const { project, parts } = hooks.data;
  return (
    <>
      {project.hook_config && project.answer === '' && <Question conversation={conversation} project={project} />}
      {parts.filter((part) => part.answer === '').map((part) => <PartQuestion key={part.file} conversation={conversation} part={part} />)}
    </>
  );
}

function PartQuestion({ conversation, part }: { conversation: Conversation; part: Hooks['parts'][number] }) {
  return (
    <section className="confirm" aria-label={tr('Programs of {file}', { file: part.file })}>
      <div className="confirm-head">
        <h2 className="grow">{tr('{file} of the project brings programs. May they run?', { file: part.file })}</h2>
        <HooksAnswer conversation={conversation} project={part} allow={tr('Allow them')} />
      </div>
      <p className="hint">
        {part.unsandboxed
          ? tr('There is no sandbox: commands run with the rights of the server. Prompts and agents use your model.')
          : tr('Commands run in the sandbox, with the rights of the agent’s commands. Prompts and agents use your model.')}{' '}
        {tr('Until you answer they do not run. A yes is for this content of {file}.', { file: part.file })} {tr('It takes effect with the next message.')}
      </p>
      <Runs lines={part.runs} />
    </section>
  );
}

function Question({ conversation, project }: { conversation: Conversation; project: Hooks['project'] }) {
  return (
    <section className="confirm" aria-label={tr('Hooks of the project')}>
      <div className="confirm-head">
        <h2 className="grow">{tr('The project has hooks. May they run?')}</h2>
        <HooksAnswer conversation={conversation} project={project} />
      </div>
      <p className="hint">
        {project.unsandboxed
          ? tr('There is no sandbox: commands run with the rights of the server. Prompts and agents use your model.')
          : tr('Commands run in the sandbox, with the rights of the agent’s commands. Prompts and agents use your model.')}{' '}
        {tr('Until you answer they do not run. A yes is for this content of {file}.', { file: project.file })}
      </p>
      <HookList hooks={listed(project.hook_config)} />
    </section>
  );
}
