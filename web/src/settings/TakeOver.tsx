import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useId, useState } from 'react';
import type { AppRoutes, TakenOver } from '../api/source';
import { Failed } from '../design/Failed';
import { Icon } from '../design/Icon';
import '../design/facts.css';

interface Given {
  name: string;
  content: string;
}

// largest bounds a file, in bytes; those of settings are small.
const largest = 256 << 10;

// TakeOver takes settings of OpenHands over, from its files. Nothing is stored before the
// user has seen what it is.
export function TakeOver({ app }: { app: AppRoutes }) {
  const queries = useQueryClient();
  const [over, setOver] = useState(false); // files are dragged over the box
  const [files, setFiles] = useState<Given[]>([]);
  const [problem, setProblem] = useState<Error | null>(null);
  const read = useMutation({ mutationFn: (given: Given[]) => app.takeOver(given, false) });
  const apply = useMutation({
    mutationFn: () => app.takeOver(files, true),
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
        if (file.size > largest) throw new Error(`${file.name} is no file of settings: it is larger than 256 KB.`);
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
      <h2 id={id}>Import from OpenHands</h2>
      <p className="hint">
        OpenHands keeps its settings in <code>~/.openhands</code>: <code>settings.json</code>, <code>secrets.json</code>, <code>agent_settings.json</code> and <code>mcp.json</code>; its server also has a{' '}
        <code>config.toml</code>. You see what is taken before anything is stored. Secrets are never shown.
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
        <span>Choose files, or drop them here</span>
        <input
          className="visually-hidden"
          type="file"
          aria-label="Files of OpenHands"
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
              <button className="icon-button" aria-label={`Remove ${f.name}`} onClick={() => without(f.name)}>
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
              {apply.isPending ? 'Importing …' : `Import ${read.data.taken.length === 1 ? 'this setting' : `these ${read.data.taken.length} settings`}`}
            </button>
            <span className="hint">They take the place of what you have of the same name. The rest stays.</span>
          </div>
        </>
      )}
      {apply.data && (
        <div className="banner good" role="status">
          {apply.data.taken.length === 1 ? 'One setting was' : `${apply.data.taken.length} settings were`} imported.
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
      <h3>Taken</h3>
      {taken.length === 0 && <p className="hint">Nothing: what the files have is as it is here by default, or has no place in Deft.</p>}
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
                {t.value} {t.secret && <span className="tag">secret</span>}
              </dd>
            </div>
          ))}
        </dl>
      )}
      {left.length > 0 && (
        <>
          <h3>Not taken</h3>
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
