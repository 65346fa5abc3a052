import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { Fragment, type ReactNode } from 'react';
import { equipmentQuery, systemPromptQuery, type Equipment } from '../api/agent';
import type { Conversation } from '../api/conversation';
import { describe } from '../api/failure';
import { hooksQuery, listed, type Hooks } from '../api/hooks';
import { isolationQuery } from '../api/sandboxes';
import { IsolationReport } from '../design/IsolationReport';
import { tr } from '../i18n/text';
import { trNodes } from '../i18n/nodes';
import { HookList, HooksAnswer, Runs } from './Hooks';

// AgentPanel shows the agent's equipment: its instructions, tools, skills and hooks,
// as they are in force.
export function AgentPanel({ conversation }: { conversation: Conversation }) {
  const prompt = useQuery(systemPromptQuery(conversation));
  const equipment = useQuery(equipmentQuery(conversation));
  const hooks = useQuery(hooksQuery(conversation));
  if (equipment.isPending || hooks.isPending) return <p className="hint late panel-body">{tr('Reading …')}</p>;
  return (
    <div className="panel-body">
      <details className="agent-part">
        <summary>{tr('System prompt')}</summary>
        <Answer query={prompt}>
          {(found) =>
            found === null ? (
              <p className="hint">{tr('The agent gets it with the first message.')}</p>
            ) : (
              <>
                <pre className="code" tabIndex={0} role="region" aria-label={tr('System prompt')}>
                  {found.fixed}
                </pre>
                {found.dynamic && (
                  <pre className="code" tabIndex={0} role="region" aria-label={tr('What differs between conversations')}>
                    {found.dynamic}
                  </pre>
                )}
              </>
            )
          }
        </Answer>
      </details>
      <details className="agent-part" open>
        <summary>{`${tr('Tools')}${count(equipment.data?.tools)}`}</summary>
        <Answer query={equipment}>
          {({ tools, warnings }) => (
            <>
              {warnings.map((w) => (
                <p key={w} className="banner warn message">
                  {w}
                </p>
              ))}
              {tools.map((t) => (
                <Tool key={t.name} tool={t} />
              ))}
            </>
          )}
        </Answer>
      </details>
      <details className="agent-part" open>
        <summary>{`${tr('Skills')}${count(equipment.data?.skills)}`}</summary>
        <Answer query={equipment}>
          {({ skills }) => (
            <>
              {skills.length === 0 && <p className="hint">{tr('No skill is loaded.')}</p>}
              {skills.map((s) => (
                <Skill key={s.name} skill={s} />
              ))}
            </>
          )}
        </Answer>
      </details>
      <Sandbox id={conversation.id} />
      <details className="agent-part" open>
        <summary>{tr('Hooks')}</summary>
        <Answer query={hooks}>
          {(found) => <HooksInForce conversation={conversation} hooks={found} />}
        </Answer>
      </details>
    </div>
  );
}

// HooksInForce shows the hooks that run, and the project's with the user's answer.
function HooksInForce({ conversation, hooks: { hook_config, project, parts } }: { conversation: Conversation; hooks: Hooks }) {
  const inForce = listed(hook_config);
  const told = { '': tr('The project has hooks, which wait for your answer:'), allowed: tr('You have allowed the hooks of the project.'), refused: tr('You have refused the hooks of the project:') };
  return (
    <>
      {inForce.length === 0 ? <p className="hint">{tr('No hooks run.')}</p> : <HookList hooks={inForce} />}
      {project.problem && (
        <p className="banner warn message">
          {tr('{file} is not used: {problem}', { file: project.file, problem: project.problem })}
        </p>
      )}
      {project.hook_config && (
        <>
          <p className="hint">{told[project.answer]}</p>
          {project.answer !== 'allowed' && <HookList hooks={listed(project.hook_config)} />}
          <HooksAnswer conversation={conversation} project={project} />
        </>
      )}
      {parts.map((part) => (
        <Fragment key={part.file}>
          <p className="hint">{{ '': tr('{file} waits for your answer:', { file: part.file }), allowed: tr('You have allowed {file}:', { file: part.file }), refused: tr('You have refused {file}:', { file: part.file }) }[part.answer]}</p>
          <Runs lines={part.runs} />
          <HooksAnswer conversation={conversation} project={part} allow={tr('Allow them')} />
        </Fragment>
      ))}
    </>
  );
}

// Sandbox shows the isolation of this conversation's commands.
function Sandbox({ id }: { id: string }) {
  const isolation = useQuery(isolationQuery(id));
  return (
    <details className="agent-part">
      <summary>{tr('Sandbox')}{isolation.data?.report && ` (${isolation.data.report.level})`}</summary>
      <Answer query={isolation}>{(found) => <IsolationReport isolation={found} />}</Answer>
    </details>
  );
}

function count(list: unknown[] | undefined): string {
  return list ? ` (${list.length})` : '';
}

function Answer<T>({ query, children }: { query: UseQueryResult<T>; children: (data: T) => ReactNode }) {
  if (query.isError) {
    return (
      <p className="banner bad message" role="alert">
        <span className="grow">{describe(query.error)}</span>
        <button className="button" onClick={() => void query.refetch()}>
          {tr('Try again')}
        </button>
      </p>
    );
  }
  return query.isSuccess ? <>{children(query.data)}</> : <p className="hint">{tr('Reading …')}</p>;
}

function Tool({ tool }: { tool: Equipment['tools'][number] }) {
  const [first] = tool.description.trim().split('\n', 1);
  return (
    <details className="agent-item">
      <summary>
        <code>{tool.name}</code> <span className="hint">{first}</span>
      </summary>
      <p className="agent-label">{tr('Description')}</p>
      <pre className="code" tabIndex={0}>
        {tool.description.trim()}
      </pre>
      <p className="agent-label">{tr('Arguments, as a JSON schema')}</p>
      <pre className="code" tabIndex={0}>
        {JSON.stringify(tool.parameters, null, 2)}
      </pre>
    </details>
  );
}

const kinds: Record<string, string> = { repo: tr('always active'), knowledge: tr('by its triggers'), agentskills: tr('read when wanted') };

function Skill({ skill }: { skill: Equipment['skills'][number] }) {
  return (
    <details className="agent-item">
      <summary>
        <code>{skill.name}</code> <span className="hint">{skill.triggers.length ? tr('at {triggers}', { triggers: skill.triggers.join(', ') }) : (kinds[skill.type] ?? skill.type)}</span>
      </summary>
      {skill.description && <p className="hint">{skill.description}</p>}
      {skill.source && (
        <p className="hint">
          {trNodes('From {source}', { source: <code>{skill.source}</code> })}
        </p>
      )}
      <pre className="code" tabIndex={0}>
        {skill.content}
      </pre>
    </details>
  );
}
