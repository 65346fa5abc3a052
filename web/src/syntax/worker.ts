// Reads code in a thread of its own: some texts take highlight.js many seconds.
import hljs from 'highlight.js/lib/common';
import clojure from 'highlight.js/lib/languages/clojure';
import cmake from 'highlight.js/lib/languages/cmake';
import dart from 'highlight.js/lib/languages/dart';
import dockerfile from 'highlight.js/lib/languages/dockerfile';
import elixir from 'highlight.js/lib/languages/elixir';
import erlang from 'highlight.js/lib/languages/erlang';
import fsharp from 'highlight.js/lib/languages/fsharp';
import gradle from 'highlight.js/lib/languages/gradle';
import groovy from 'highlight.js/lib/languages/groovy';
import haskell from 'highlight.js/lib/languages/haskell';
import http from 'highlight.js/lib/languages/http';
import julia from 'highlight.js/lib/languages/julia';
import latex from 'highlight.js/lib/languages/latex';
import nginx from 'highlight.js/lib/languages/nginx';
import nix from 'highlight.js/lib/languages/nix';
import ocaml from 'highlight.js/lib/languages/ocaml';
import powershell from 'highlight.js/lib/languages/powershell';
import properties from 'highlight.js/lib/languages/properties';
import protobuf from 'highlight.js/lib/languages/protobuf';
import scala from 'highlight.js/lib/languages/scala';
import type { Answer, Question } from './reader';
import { tokensOf } from './tokens';

const more = { clojure, cmake, dart, dockerfile, elixir, erlang, fsharp, gradle, groovy, haskell, http, julia, latex, nginx, nix, ocaml, powershell, properties, protobuf, scala };
for (const [name, language] of Object.entries(more)) hljs.registerLanguage(name, language);

addEventListener('message', ({ data: { text, language } }: MessageEvent<Question>) => {
  const answer: Answer = hljs.getLanguage(language) ? tokensOf(hljs.highlight(text, { language, ignoreIllegals: true }).value) : null;
  postMessage(answer);
});

postMessage('ready');
