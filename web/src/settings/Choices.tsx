interface Props<T extends string> {
  name: string; // of the group, in the page
  legend: string;
  all: { value: T; label: string; hint: string }[];
  value: T | undefined; // undefined until it is known
  choose: (value: T) => void;
}

// Choices is a setting of which one of a few values holds.
export function Choices<T extends string>({ name, legend, all, value, choose }: Props<T>) {
  return (
    <fieldset className="choices" disabled={!value}>
      <legend>{legend}</legend>
      {all.map((c) => (
        <label key={c.value} className="row choice">
          <input type="radio" name={name} checked={c.value === value} onChange={() => choose(c.value)} />
          <span>
            {c.label}
            <br />
            <span className="hint">{c.hint}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}
