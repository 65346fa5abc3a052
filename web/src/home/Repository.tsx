import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { describe } from '../api/failure';
import { branchesQuery, hostsQuery, repositoriesKey, repositoriesQuery, type Repository as Known } from '../api/gitHosts';
import { providers } from '../settings/providers';
import { tr } from '../i18n/text';

// A Choice is the repository of a task. Empty fields: a new directory, the default
// branch, and whatever host the repository is at.
export interface Choice {
  repository: string;
  branch: string;
  provider: string;
}

export const nothing: Choice = { repository: '', branch: '', provider: '' };

export const trimmed = ({ repository, branch, provider }: Choice): Choice => ({ repository: repository.trim(), branch: branch.trim(), provider });

interface Props {
  choice: Choice;
  onChoice: (choice: Choice) => void;
}

// Repository offers the user's repositories and their branches, if a token of a Git
// host is stored, and otherwise takes a name or an address.
export function Repository({ choice, onChoice }: Props) {
  const hosts = useQuery(hostsQuery);
  const known = Object.keys(hosts.data ?? {});
  if (!hosts.data && !hosts.isError) return <Waiting />;
  if (known.length === 0) return <Named choice={choice} onChoice={onChoice} />;
  return <Picker known={known} choice={choice} onChoice={onChoice} />;
}

// Waiting takes the room of the field, so that nothing moves when it comes.
function Waiting() {
  return (
    <details className="home-repository home-waiting" inert>
      <summary>{tr('Repository')}</summary>
    </details>
  );
}

function Named({ choice, onChoice }: Props) {
  return (
    <details className="home-repository">
      <summary>{tr('Repository')}</summary>
      <div className="home-options">
        <label className="home-where">
          <span>{tr('Name or address')}</span>
          <input
            className="input"
            value={choice.repository}
            onChange={(e) => onChoice({ ...choice, repository: e.target.value })}
            placeholder={tr('owner/name or https://…')}
            spellCheck={false}
          />
        </label>
        {choice.repository && <BranchField choice={choice} onChoice={onChoice} />}
      </div>
    </details>
  );
}

function Picker({ known, choice, onChoice }: Props & { known: string[] }) {
  const queries = useQueryClient();
  const [chosen, setChosen] = useState('');
  const provider = known.includes(chosen) ? chosen : (known[0] ?? '');
  const text = useSettled(choice.repository.trim());
  const found = useQuery(repositoriesQuery(provider, text));
  // A search for its whole name may not find a repository that an earlier one did.
  const seen = queries.getQueriesData<Known[]>({ queryKey: repositoriesKey(provider) }).flatMap(([, list]) => list ?? []);
  const repository = seen.find((r) => r.name === choice.repository.trim());
  const branchText = useSettled(choice.branch.trim());
  const branches = useQuery({ ...branchesQuery(provider, repository?.name ?? '', branchText), enabled: repository !== undefined });
  const failure = found.error ?? branches.error;
  // An address names its host itself.
  const of = (name: string) => (name.trim() === '' || name.includes('://') ? '' : provider);
  return (
    <>
      {known.length > 1 && (
        <label className="home-where">
          <span className="visually-hidden">{tr('Git host')}</span>
          <select
            className="model-select"
            value={provider}
            onChange={(e) => {
              setChosen(e.target.value);
              onChoice(nothing);
            }}
          >
            {known.map((name) => (
              <option key={name} value={name}>
                {providers.find((p) => p.name === name)?.label ?? name}
              </option>
            ))}
          </select>
        </label>
      )}
      <label className="home-where">
        <span>{tr('Repository')}</span>
        <input
          className="input"
          list="home-repositories"
          value={choice.repository}
          onChange={(e) => onChoice({ repository: e.target.value, branch: '', provider: of(e.target.value) })}
          placeholder={tr('search, or none')}
          spellCheck={false}
        />
        <datalist id="home-repositories">
          {(found.data ?? []).map((r) => (
            <option key={r.name} value={r.name}>
              {r.isPublic ? tr('public') : tr('private')}
            </option>
          ))}
        </datalist>
      </label>
      {choice.repository && (
        <>
          <BranchField choice={choice} onChoice={onChoice} normal={repository?.branch} />
          <datalist id="home-branches">
            {repository && (branches.data ?? []).map((name) => <option key={name} value={name} />)}
          </datalist>
        </>
      )}
      {failure && (
        <span className="home-failure" role="alert">
          {describe(failure)}
        </span>
      )}
    </>
  );
}

function BranchField({ choice, onChoice, normal }: Props & { normal?: string }) {
  return (
    <label className="home-where">
      <span>{tr('Branch')}</span>
      <input
        className="input"
        list="home-branches"
        value={choice.branch}
        onChange={(e) => onChoice({ ...choice, branch: e.target.value })}
        placeholder={normal || tr('default')}
        spellCheck={false}
      />
    </label>
  );
}

// useSettled is a text once it has not changed for a moment.
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), 250);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}
