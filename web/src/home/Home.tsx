import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { useSource } from '../api/context';
import { describe } from '../api/failure';
import { Composer } from '../conversation/Composer';
import { FirstRun } from './FirstRun';
import './home.css';

const examples = [
  'Explain how this project is built and tested',
  'Find the slowest test and make it faster',
  'Write a small web page with a clock and show me how to open it',
];

export function Home() {
  const source = useSource();
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  const ready = useQuery({ queryKey: ['ready'], queryFn: () => source.ready() });
  const model = useQuery({ queryKey: ['model'], queryFn: () => source.model(), enabled: ready.data === true });
  const [text, setText] = useState('');
  const [confirm, setConfirm] = useState(false);
  const [where, setWhere] = useState('');
  const [branch, setBranch] = useState('');
  const [step, setStep] = useState('');
  const box = useRef<HTMLTextAreaElement>(null);
  const start = useMutation({
    mutationFn: (images: string[]) =>
      source.start(
        {
          text,
          images,
          confirm,
          ...(source.kind === 'app-server' ? { repository: where.trim(), branch: branch.trim() } : { directory: where.trim() }),
        },
        setStep,
      ),
    onSuccess: (id) => {
      void queries.invalidateQueries({ queryKey: ['conversations'] });
      navigate(`/conversations/${id}`);
    },
    onSettled: () => setStep(''),
  });
  useEffect(() => {
    document.title = 'Deft';
    if (ready.data) box.current?.focus();
  }, [ready.data]);

  return (
    <div className="home">
      <div className="home-inner">
        <h1>What should be done?</h1>
        {ready.isError && (
          <p className="banner bad" role="alert">
            {describe(ready.error)}
          </p>
        )}
        {ready.data === false && <FirstRun />}
        {ready.data === true && (
          <>
            <Composer
              ref={box}
              label="Task"
              placeholder="Describe a task. Enter starts it, Shift+Enter makes a new line."
              text={text}
              onText={setText}
              busy={start.isPending}
              sendLabel="Start"
              onSend={(images) => start.mutateAsync(images).then(() => true)}
            />
            <div className="home-options">
              <label className="home-where">
                <span>{source.kind === 'app-server' ? 'Repository' : 'Directory'}</span>
                <input
                  className="input"
                  value={where}
                  onChange={(e) => setWhere(e.target.value)}
                  placeholder={source.kind === 'app-server' ? 'owner/name, or empty' : 'a new one'}
                  spellCheck={false}
                />
              </label>
              {source.kind === 'app-server' && where && (
                <label className="home-where">
                  <span>Branch</span>
                  <input className="input" value={branch} onChange={(e) => setBranch(e.target.value)} placeholder="default" spellCheck={false} />
                </label>
              )}
              {source.kind === 'agent-server' && (
                <label className="row">
                  <input type="checkbox" checked={confirm} onChange={(e) => setConfirm(e.target.checked)} /> Ask before risky actions
                </label>
              )}
              <span className="grow" />
              {model.data && (
                <Link href="/settings/models" className="hint model-link">
                  {model.data.model}
                </Link>
              )}
            </div>
            {step && (
              <p className="banner" role="status">
                <span className="dot running" /> {step} …
              </p>
            )}
            <ul className="examples" aria-label="Examples">
              {examples.map((example) => (
                <li key={example}>
                  <button
                    onClick={() => {
                      setText(example);
                      box.current?.focus();
                    }}
                  >
                    {example}
                  </button>
                </li>
              ))}
            </ul>
          </>
        )}
      </div>
    </div>
  );
}
