import { useCallback, useEffect, useLayoutEffect, useState } from 'react';
import { connect } from '../api/conversation';
import type { ConversationSummary } from '../api/summary';
import { Outputs, OutputsContext } from '../events/output';
import { eventOf } from '../events/item';
import { EventStore } from '../events/store';
import { useView } from '../events/useView';
import { Banners } from './Banners';
import { ConversationBar } from './ConversationBar';
import { Find } from './Find';
import { PanelTabs } from './PanelTabs';
import { Parts } from './Parts';
import { Reply } from './Reply';
import { SidePanel } from './SidePanel';
import { Timeline } from './Timeline';
import { useBranching } from './useBranching';
import { useControl } from './useControl';
import { useFailure } from './useFailure';
import { useLists } from './useLists';
import { useTarget } from './useTarget';
import { setTitle } from '../design/title';

interface Props {
  id: string;
  panel: string | null;
  summary: ConversationSummary;
}

// OpenConversation is a conversation with its connection and its store. It is drawn again when
// its state changes, not for each event: its parts take their content from the store.
export function OpenConversation({ id, panel, summary }: Props) {
  const [conversation] = useState(() => connect(summary));
  const [store] = useState(() => new EventStore(conversation));
  const [outputs] = useState(() => (conversation.live ? new Outputs(conversation) : null));
  const loaded = useView(store, (v) => v.loaded);
  const current = useView(store, (v) => v.timeline.status);
  const status = conversation.live && loaded ? current : summary.status;
  const [finding, setFinding] = useState(false);
  const { target, goto, clear, toEnd, ends } = useTarget(store, panel);
  const { failure, setFailure } = useFailure(store);
  const control = useControl(conversation, id, status === 'running', setFailure);
  const { onBranch, dialog } = useBranching(conversation, store, id);
  useLists(store, id, summary.title, status);

  // Before the first paint: the first events have been asked for early, and are mostly there.
  const [first] = useState(target && eventOf(target));
  useLayoutEffect(() => {
    store.open(first);
    return () => {
      store.close();
      outputs?.close();
    };
  }, [store, outputs, first]);
  useEffect(() => {
    setTitle(summary.title);
  }, [summary.title]);
  const find = useCallback(() => setFinding(true), []);
  useFindKey(find);
  const closeFind = useCallback(() => {
    setFinding(false);
    clear(); // a found event is marked during the search only
  }, [clear]);

  return (
    <div className="conversation" data-panel={panel ? '' : undefined}>
      <ConversationBar conversation={conversation} store={store} summary={summary} status={status} control={control} onFind={find} onFailure={setFailure} />
      <PanelTabs id={id} open={panel} />
      <div className="chat">
        <Banners store={store} control={control} failure={failure} onClose={() => setFailure('')} />
        {finding && <Find conversation={conversation} store={store} onGoto={goto} onClose={closeFind} />}
        {dialog}
        {summary.parts.length > 0 && <Parts conversation={conversation} ids={summary.parts} />}
        <OutputsContext value={outputs}>
          <Timeline store={store} address={`/conversations/${id}`} target={target} onRetry={control.run} onBranch={onBranch} ends={ends} onEnd={toEnd} />
        </OutputsContext>
        <Reply conversation={conversation} store={store} summary={summary} onSent={toEnd} onGoto={goto} />
      </div>
      {panel && <SidePanel name={panel} id={id} conversation={conversation} store={store} onOlder={store.loadOlder} />}
    </div>
  );
}

function useFindKey(find: () => void): void {
  useEffect(() => {
    const onKey = (e: KeyboardEvent) => {
      if (e.key !== 'f' || !(e.ctrlKey || e.metaKey) || e.shiftKey || e.altKey) return;
      e.preventDefault();
      find();
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, [find]);
}
