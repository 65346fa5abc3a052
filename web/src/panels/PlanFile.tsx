import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import type { Conversation } from '../api/conversation';
import { planPath, planQuery, readAgain, store } from '../api/files';
import { Failed } from '../design/Failed';
import { Markdown } from '../design/Markdown';
import type { Timeline } from '../events/timeline';
import { useThrottled } from './useThrottled';
import { tr } from '../i18n/text';

interface Props {
  conversation: Conversation;
  timeline: Timeline;
  none: boolean; // the agent keeps no list of tasks
}

// PlanFile shows the plan that an agent has written, and lets the user change it.
export function PlanFile({ conversation, timeline, none }: Props) {
  const queries = useQueryClient();
  const directory = timeline.directory;
  const plan = useQuery({ ...planQuery(conversation, directory), enabled: directory !== '' });
  const [edited, setEdited] = useState<{ from: string; text: string } | null>(null);
  // Whatever the agent does may change the plan.
  const step = useThrottled(timeline.cursor, 1000);
  const read = useRef(step);
  useEffect(() => {
    if (read.current === step) return;
    read.current = step;
    void queries.invalidateQueries({ queryKey: planQuery(conversation, directory).queryKey });
  }, [step, queries, conversation, directory]);
  const save = useMutation({
    mutationFn: async ({ from, text }: { from: string; text: string }) => {
      const now = await queries.fetchQuery({ ...planQuery(conversation, directory), staleTime: 0 });
      if (now !== from) throw new Error(tr('The plan was changed meanwhile. Copy your text, cancel, and edit it again.'));
      await store(conversation, planPath(directory), new File([text], 'PLAN.md'));
    },
    onSuccess: async () => {
      await readAgain(queries, conversation);
      setEdited(null);
    },
  });
  if (edited) {
    return (
      <form
        className="settings-form"
        onSubmit={(e) => {
          e.preventDefault();
          save.mutate(edited);
        }}
      >
        <textarea className="input mono" aria-label={tr('The plan')} autoFocus rows={20} value={edited.text} onChange={(e) => setEdited({ ...edited, text: e.target.value })} />
        <Failed error={save.error} />
        <div className="row">
          <button className="button primary" disabled={save.isPending || edited.text === edited.from}>
            {tr('Save')}
          </button>
          <button type="button" className="button" onClick={() => setEdited(null)}>
            {tr('Cancel')}
          </button>
        </div>
      </form>
    );
  }
  if (typeof plan.data !== 'string') {
    return none ? <p className="center">{tr('The agent keeps no list of tasks yet, and no plan is written.')}</p> : null;
  }
  const text = plan.data;
  return (
    <section aria-label={tr('The plan')}>
      <div className="panel-tools">
        <code className="hint grow">.agents_tmp/PLAN.md</code>
        <button className="button" onClick={() => setEdited({ from: text, text })}>
          {tr('Edit')}
        </button>
      </div>
      <Markdown text={text} />
    </section>
  );
}
