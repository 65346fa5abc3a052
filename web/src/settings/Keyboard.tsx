import { useAllCommands } from '../commands/registry';

const always = [
  { keys: 'Enter', label: 'Send the message, or start the task' },
  { keys: 'Shift+Enter', label: 'New line' },
  { keys: 'Y', label: 'Allow the action that waits' },
  { keys: 'N', label: 'Reject it' },
  { keys: 'Ctrl+.', label: 'Stop the agent' },
  { keys: 'Ctrl+F', label: 'Search in the conversation' },
];

// Keyboard is the map of keys. Single letters act while no text is written.
export function Keyboard() {
  const commands = useAllCommands().filter((c) => c.keys);
  return (
    <section className="card" aria-labelledby="keyboard-title">
      <h2 id="keyboard-title">Keyboard</h2>
      <p className="hint">Single letters act while you write nothing. On a Mac, Command is Ctrl.</p>
      <table className="keyboard">
        <tbody>
          {[...commands, ...always].map((c) => (
            <tr key={c.label}>
              <th scope="row">{c.label}</th>
              <td>
                <kbd>{c.keys}</kbd>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
