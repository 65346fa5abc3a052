// Skills of the server and of its user.
import { queryOptions } from '@tanstack/react-query';
import { query, request } from './http';
import { changeSettings, settings } from './settings';

export interface ListedSkill {
  name: string;
  public: boolean; // one of OpenHands' collection
  triggers: string[]; // none: always active, or read when wanted
}

export interface Skills {
  all: ListedSkill[];
  off: string[]; // names of skills that agents do not get
  problems: string[]; // files of the user that are left out, and why
}

async function skills(): Promise<Skills> {
  type Found = { name: string; source: string; triggers: string[] | null };
  const all: Found[] = [];
  let problems: string[] = [];
  for (let page: string | null = ''; page !== null; ) {
    const answer: { items: Found[]; next_page_id: string | null; problems: string[] } = await request('GET', `/api/v1/skills/search${query({ limit: 100, page_id: page })}`);
    all.push(...answer.items);
    problems = answer.problems;
    page = answer.next_page_id;
  }
  return {
    all: all.map((s) => ({ name: s.name, public: s.source === 'global', triggers: s.triggers ?? [] })),
    off: (await settings()).disabled_skills ?? [],
    problems,
  };
}

export const skillsQuery = queryOptions({ queryKey: ['skills'], queryFn: skills });

export function setSkillsOff(names: string[]): Promise<void> {
  return changeSettings({ disabled_skills: names });
}
