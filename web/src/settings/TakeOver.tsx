import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { takeOver, type TakenOver } from '../api/settingsImport';
import { Failed } from '../design/Failed';
import { Icon } from '../design/Icon';
import { trNodes } from '../i18n/nodes';
import { plural, tr } from '../i18n/text';
import '../design/facts.css';

interface Given {
  name: string;
  content: string;
}

// largest bounds a file, in bytes; files of settings are small.
const largest = 256 << 10;

// TakeOver takes settings of OpenHands over, from its files. Nothing is stored before the
// user has seen what it is.
export function TakeOver() {
  const queries = useQueryClient();
  const [over, setOver] = useState(false); // files are dragged over the box
  const [files, setFiles] = useState<Given[]>([]);
  const [problem, setProblem] = useState<Error | null>(null);
  const read = useMutation({ mutationFn: (given: Given[]) => takeOver(given, false) });
  const apply = useMutation({
    mutationFn: () => takeOver(files, true),
    onSuccess: () => {
      setFiles([]);
      read.reset();
      return queries.invalidateQueries();
    },
  });
  const id = useId();
  const add = async (list: Iterable<File>) => {
    setProblem(null);
    apply.reset();
    try {
      const next = [...files];
      for (const file of list) {
        if (file.size > largest) throw new Error(tr('{name} is no file of settings: it is larger than 256 KB.', { name: file.name }));
        const one = { name: file.name, content: await file.text() };
        const at = next.findIndex((f) => f.name === one.name);
        if (at >= 0) next[at] = one;
        else next.push(one);
      }
      setFiles(next);
      if (next.length) read.mutate(next);
    } catch (error) {
      setProblem(error instanceof Error ? error : new Error(String(error)));
    }
  };
  const without = (name: string) => {
    const next = files.filter((f) => f.name !== name);
    setFiles(next);
    if (next.length) read.mutate(next);
    else read.reset();
  };
  return (
    <section className="card" aria-labelledby={id}>
      <h2 id={id}>{tr('Import from OpenHands')}</h2>
      <p className="hint">
        {trNodes('OpenHands keeps its settings in {directory}: {settings}, {secrets}, {agent} and {mcp}; its server also has a {config}. You see what is taken before anything is stored. Secrets are never shown.', {
          directory: <code>~/.openhands</code>,
          settings: <code>settings.json</code>,
          secrets: <code>secrets.json</code>,
          agent: <code>agent_settings.json</code>,
          mcp: <code>mcp.json</code>,
          config: <code>config.toml</code>,
        })}
      </p>
      <label
        className="drop"
        data-over={over || undefined}
        onDragOver={(e) => {
          e.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(e) => {
          e.preventDefault();
          setOver(false);
          void add(e.dataTransfer.files);
        }}
      >
        <Icon name="upload" />
        <span>{tr('Choose files, or drop them here')}</span>
        <input
          className="visually-hidden"
          type="file"
          aria-label={tr('Files of OpenHands')}
          multiple
          accept=".toml,.json"
          onChange={(e) => {
            void add([...(e.target.files ?? [])]);
            e.target.value = '';
          }}
        />
      </label>
      {files.length > 0 && (
        <ul className="tags">
          {files.map((f) => (
            <li key={f.name} className="tag">
              {f.name}
              <button className="icon-button" aria-label={tr('Remove {name}', { name: f.name })} onClick={() => without(f.name)}>
                <Icon name="close" size={12} />
              </button>
            </li>
          ))}
        </ul>
      )}
      <Failed error={problem ?? read.error ?? apply.error} />
      {read.data && files.length > 0 && (
        <>
          <Outcome outcome={read.data} />
          <div className="row">
            <button className="button primary" disabled={apply.isPending || read.isPending || read.data.taken.length === 0} onClick={() => apply.mutate()}>
              {apply.isPending ? tr('Importing …') : plural(read.data.taken.length, 'Import this setting', 'Import these {n} settings')}
            </button>
            <span className="hint">{tr('They take the place of what you have of the same name. The rest stays.')}</span>
          </div>
        </>
      )}
      {apply.data && (
        <div className="banner good" role="status">
          {plural(apply.data.taken.length, 'One setting was imported.', '{n} settings were imported.')}
        </div>
      )}
      {apply.data?.left.filter((l) => l.why.startsWith('it was not stored')).map((l) => (
        <p key={l.key} className="banner warn">
          {l.key}: {l.why}
        </p>
      ))}
    </section>
  );
}

function Outcome({ outcome: { taken, left } }: { outcome: TakenOver }) {
  return (
    <>
      <h3>{tr('Taken')}</h3>
      {taken.length === 0 && <p className="hint">{tr('Nothing: what the files have is as it is here by default, or has no place in Deft.')}</p>}
      {taken.length > 0 && (
        <dl className="facts">
          {taken.map((t) => (
            <div key={t.to}>
              <dt>
                {t.to}
                <small>
                  {t.file}: {t.key}
                </small>
              </dt>
              <dd>
                {t.value} {t.secret && <span className="tag">{tr('secret')}</span>}
              </dd>
            </div>
          ))}
        </dl>
      )}
      {left.length > 0 && (
        <>
          <h3>{tr('Not taken')}</h3>
          <dl className="facts">
            {left.map((l, i) => (
              <div key={i}>
                <dt>
                  {l.key}
                  <small>{l.file}</small>
                </dt>
                <dd>{l.why}</dd>
              </div>
            ))}
          </dl>
        </>
      )}
    </>
  );
}
