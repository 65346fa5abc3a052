// Icons of 16 by 16, drawn as lines.
const paths = {
  plus: 'M8 3v10M3 8h10',
  menu: 'M2.5 4.5h11M2.5 8h11M2.5 11.5h11',
  close: 'M4 4l8 8M12 4l-8 8',
  send: 'M8 13V3M3.5 7.5 8 3l4.5 4.5',
  stop: 'M4.5 4.5h7v7h-7z',
  pause: 'M5.5 3.5v9M10.5 3.5v9',
  play: 'M5 3.5v9l7-4.5z',
  chevron: 'M6 4l4 4-4 4',
  check: 'M3.5 8.5 6.5 11.5 12.5 4.5',
  cross: 'M4.5 4.5l7 7M11.5 4.5l-7 7',
  terminal: 'M3 4.5 6.5 8 3 11.5M8.5 12H13',
  pencil: 'M3 13l.6-2.7L10.8 3l2.2 2.2-7.3 7.2z',
  file: 'M4 2.5h5l3 3v8H4zM9 2.5v3h3',
  folder: 'M2.5 4.5h4l1.5 1.5h5.5v7h-11z',
  list: 'M6 4.5h7.5M6 8h7.5M6 11.5h7.5M2.8 4.5h.4M2.8 8h.4M2.8 11.5h.4',
  search: 'M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.5 10.5 14 14',
  agent: 'M4 6h8v6.5H4zM8 6V3.5M6.5 9v.4M9.5 9v.4M2.5 8.5v1.5M13.5 8.5v1.5',
  plug: 'M6 2.5v3M10 2.5v3M4 5.5h8v2a4 4 0 0 1-8 0zM8 11.5v2.5',
  tool: 'M9.8 6.2 4 12l-1.5-1.5M9.8 6.2a3 3 0 1 0 3.9-3.9L12 4l-2 0 0 2 1.7-1.7',
  globe: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM2 8h12M8 2c2 2 2 10 0 12M8 2c-2 2-2 10 0 12',
  alert: 'M8 2.5 14.5 13.5h-13zM8 6.5v3.5M8 11.8v.2',
  info: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 7.5V11M8 5v.2',
  gear: 'M8 10.2a2.2 2.2 0 1 0 0-4.4 2.2 2.2 0 0 0 0 4.4zM8 1.8v2M8 12.2v2M1.8 8h2M12.2 8h2M3.6 3.6 5 5M11 11l1.4 1.4M12.4 3.6 11 5M5 11l-1.4 1.4',
  trash: 'M3 4.5h10M6.5 4.5V3h3v1.5M4.5 4.5l.5 9h6l.5-9M6.8 7v4M9.2 7v4',
  diff: 'M5 3v6M2 6h6M8.5 12.5h5',
  chart: 'M3 13V8M8 13V3M13 13v-3',
  code: 'M5.5 4 2 8l3.5 4M10.5 4 14 8l-3.5 4',
  sun: 'M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 1.5v1.5M8 13v1.5M1.5 8H3M13 8h1.5M3.4 3.4l1 1M11.6 11.6l1 1M12.6 3.4l-1 1M4.4 11.6l-1 1',
  moon: 'M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5z',
  copy: 'M5.5 5.5h7v8h-7zM10.5 5.5v-3h-7v8h2',
  clip: 'M12.8 7.4 7.7 12.5a2.9 2.9 0 0 1-4.1-4.1l5.1-5.1a1.9 1.9 0 0 1 2.7 2.7l-5 5a.9.9 0 0 1-1.3-1.3l4.5-4.5',
  page: 'M2.5 3.5h11v9h-11zM2.5 6.5h11M4.5 5h.2M6.5 5h.2',
  refresh: 'M13 8a5 5 0 1 1-1.6-3.7M13 2.5v2.8h-2.8',
  more: 'M3 8h.2M8 8h.2M13 8h.2',
  upload: 'M8 13V4M4 7.5 8 3.5l4 4M3 13.5h10',
  up: 'M8 13V4M4 7.5 8 3.5l4 4',
  undo: 'M5.5 3 2.5 6l3 3M2.5 6H10a3.5 3.5 0 0 1 0 7H6',
  branch: 'M5 11V5M5 5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM5 14a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM11 6.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM11 6.5C11 9 8 9 5 11',
  down: 'M8 3v9M4 8.5 8 12.5l4-4',
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      <path d={paths[name]} />
    </svg>
  );
}
