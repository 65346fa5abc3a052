import { lazy, Suspense } from 'react';
import type { Conversation } from '../api/conversation';
import type { Timeline } from '../events/timeline';
import { Changes } from './Changes';
import { Files } from './Files';
import { RawEvents } from './RawEvents';
import { UsagePanel } from './UsagePanel';
import './panels.css';

const Terminal = lazy(() => import('./Terminal'));

interface Props {
  name: string;
  conversation: Conversation;
  timeline: Timeline;
  older: 'none' | 'more' | 'loading';
  onOlder: () => void;
}

export default function Panel({ name, conversation, timeline, older, onOlder }: Props) {
  switch (name) {
    case 'changes':
      return <Changes conversation={conversation} timeline={timeline} />;
    case 'files':
      return <Files conversation={conversation} timeline={timeline} />;
    case 'terminal':
      return (
        <Suspense fallback={null}>
          <Terminal conversation={conversation} />
        </Suspense>
      );
    case 'usage':
      return <UsagePanel usage={timeline.usage} model={timeline.model} />;
    case 'events':
      return <RawEvents events={timeline.events} older={older} onOlder={onOlder} />;
    default:
      return <p className="center">There is no such panel.</p>;
  }
}
