import hooks from 'eslint-plugin-react-hooks';
import { defineConfig, globalIgnores } from 'eslint/config';
import ts from 'typescript-eslint';

// A rest without a field leaves the field out: { kind: _, ...rest }.
const rules = { '@typescript-eslint/no-unused-vars': ['error', { ignoreRestSiblings: true }] };

export default defineConfig(
  globalIgnores(['dist', 'src/api/generated']),
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  {
    files: ['src/**/*.{ts,tsx}'],
    extends: [ts.configs.recommendedTypeChecked, hooks.configs.flat.recommended],
    languageOptions: { parserOptions: { projectService: true } },
    rules,
  },
  { files: ['{scripts,e2e}/**/*.ts', 'vite.config.ts'], extends: [ts.configs.recommended], rules },
);
