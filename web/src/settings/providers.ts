import { tr } from '../i18n/text';

// The Git hosts that a token may be of.
export const providers = [
  { name: 'github', label: 'GitHub', host: 'github.com' },
  { name: 'gitlab', label: 'GitLab', host: 'gitlab.com' },
  { name: 'bitbucket', label: 'Bitbucket', host: 'bitbucket.org' },
  { name: 'forgejo', label: tr('Forgejo or Gitea'), host: 'codeberg.org' },
];
