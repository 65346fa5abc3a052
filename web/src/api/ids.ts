// dashed gives an id of the App Server the form of the agent server, and of events.
export function dashed(id: string): string {
  return /^[0-9a-f]{32}$/.test(id) ? id.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5') : id;
}
