// Settings from files of OpenHands.
import { request } from './http';

// TakenOver is the effect of such files, or with apply: false the effect that they would have.
export interface TakenOver {
  taken: { file: string; key: string; to: string; value: string; secret: boolean }[];
  left: { file: string; key: string; why: string }[];
}

export function takeOver(files: { name: string; content: string }[], apply: boolean): Promise<TakenOver> {
  return request('POST', '/api/v1/settings/import', { files, apply });
}
