import { fileToolsQuery, setFileTools, type FileTools as Preset } from '../api/fileTools';
import { Failed } from '../design/Failed';
import { tr } from '../i18n/text';
import { Choices } from './Choices';
import { useChoice } from './useChoice';

const choices: { value: Preset; label: string; hint: string }[] = [
  { value: 'default', label: tr('By replaced text'), hint: tr('One tool that shows, makes and edits files; most models work well with it.') },
  { value: 'gpt5', label: tr('By patches'), hint: tr('The tool that GPT-5 and its successors have learnt.') },
  { value: 'gemini', label: tr('By the tools of Gemini'), hint: tr('Tools to read, write, edit and list, as Gemini has learnt them.') },
];

// FileTools says with which tools agents change files. It holds for new conversations.
export function FileTools() {
  const tools = useChoice(fileToolsQuery, setFileTools);
  return (
    <section className="card">
      <Failed error={tools.error} />
      <Choices name="file-tools" legend={tr('How does the agent change files?')} all={choices} value={tools.value} choose={tools.choose} />
      <p className="hint">{tr('This holds for new conversations.')}</p>
    </section>
  );
}
