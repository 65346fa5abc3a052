import { memoryQuery, setMemory, type Memory } from '../api/memory';
import { Failed } from '../design/Failed';
import { tr } from '../i18n/text';
import { Choices } from './Choices';
import { useChoice } from './useChoice';

const choices: { value: Memory; label: string; hint: string }[] = [
  { value: 'none', label: tr('Nothing'), hint: tr('Each conversation begins anew; AGENTS.md of the project is read all the same.') },
  { value: 'files', label: tr('Notes of earlier conversations'), hint: tr('The agent proposes notes about the project and about your wishes. Each one waits for your yes.') },
];

// MemoryFiles says whether conversations begin with notes of earlier ones. It holds for new conversations.
export function MemoryFiles() {
  const memory = useChoice(memoryQuery, setMemory);
  return (
    <section className="card">
      <Failed error={memory.error} />
      <Choices name="memory" legend={tr('What does the agent remember?')} all={choices} value={memory.value} choose={memory.choose} />
      <p className="hint">{tr('This holds for new conversations.')}</p>
    </section>
  );
}
