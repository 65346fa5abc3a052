import { keysText, useAllCommands } from '../commands/registry';
import { tr } from '../i18n/text';

const always = [
  { keys: 'Enter', label: tr('Send the message, or start the task') },
  { keys: 'Shift+Enter', label: tr('New line') },
  { keys: 'Esc', label: tr('Leave the text box') },
  { keys: 'Shift+Esc', label: tr('Leave the terminal') },
  { keys: 'Y', label: tr('In a confirmation: allow once') },
  { keys: 'A', label: tr('In a confirmation: always allow this kind') },
  { keys: 'N', label: tr('In a confirmation: reject') },
  { keys: 'Ctrl+.', label: tr('Stop the agent') },
  { keys: 'Ctrl+F', label: tr('Search in the conversation') },
];

// Keyboard is the map of keys.
export function Keyboard() {
  const commands = useAllCommands().filter((c) => c.keys);
  return (
    <section className="card" aria-labelledby="keyboard-title">
      <h2 id="keyboard-title">{tr('Keyboard')}</h2>
      <p className="hint">{tr('Single letters act in a confirmation that has the focus only. On a Mac, Command is Ctrl.')}</p>
      <table className="keyboard">
        <tbody>
          {[...commands, ...always].map((c) => (
            <tr key={c.label}>
              <th scope="row">{c.label}</th>
              <td>
                <kbd>{keysText(c.keys ?? '')}</kbd>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
