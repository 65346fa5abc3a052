import os, sys, tempfile, zipfile, pathlib
os.environ['LOG_TO_FILE']='0'
from openhands.core.config import OpenHandsConfig
from openhands.events.stream import EventStream
from openhands.storage.memory import InMemoryFileStore
from openhands.llm.llm_registry import LLMRegistry
from openhands.runtime.impl.action_execution.action_execution_client import ActionExecutionClient
from openhands.events.action import *
from openhands.events.event import FileEditSource, FileReadSource
url, key, ws = sys.argv[1:4]
class Client(ActionExecutionClient):
    async def connect(self): pass
    @property
    def action_execution_server_url(self): return url
config = OpenHandsConfig()
c = Client(config, EventStream('s', InMemoryFileStore()), LLMRegistry(config), 's')
c.session.headers.update({'X-Session-API-Key': key})
def show(name, v): print(name, '=>', repr(v)[:400])
c.check_if_alive()
show('run', c.run(CmdRunAction('echo hi; cd sub 2>/dev/null || mkdir sub; cd sub; pwd')).content)
o = c.run(CmdRunAction('false')); show('false', (o.exit_code, o.success, o.metadata.working_dir))
o = c.run(CmdRunAction('pwd', is_static=True, cwd=ws, hidden=True)); show('static', (o.content, o.hidden))
show('key', c.run(CmdRunAction('env | grep -c SESSION_API_KEY; cat /proc/$PPID/environ 2>&1 | head -c 60')).content)
a = CmdRunAction('sleep 2; echo slept', blocking=True); a.set_hard_timeout(20); show('blocking', c.run(a).content)
a = CmdRunAction('sleep 30'); a.set_hard_timeout(1, blocking=False); o=c.run(a); show('timeout', (o.exit_code, o.metadata.suffix))
show('C-c', c.run(CmdRunAction('C-c', is_input=True)).exit_code)
show('write', c.write(FileWriteAction(path=ws+'/a.txt', content='one\ntwo\nthree\n')))
show('read', c.read(FileReadAction(path=ws+'/a.txt')).content)
show('read range', c.read(FileReadAction(path=ws+'/a.txt', start=1, end=2)).content)
show('read aci', c.read(FileReadAction(path=ws+'/a.txt', impl_source=FileReadSource.OH_ACI)).content)
o = c.edit(FileEditAction(path=ws+'/a.txt', command='str_replace', old_str='two', new_str='zwei', impl_source=FileEditSource.OH_ACI)); show('edit', (o.content, o.diff, o.old_content))
show('read missing', c.read(FileReadAction(path=ws+'/none')).content)
show('read outside', c.read(FileReadAction(path='/etc/passwd')).content)
show('ipython', c.run_ipython(IPythonRunCellAction('1')))
show('browse', c.browse(BrowseURLAction('http://x')))
d = pathlib.Path(tempfile.mkdtemp())/'tree'; (d/'deep').mkdir(parents=True); (d/'deep'/'f').write_text('F'); (d/'g').write_text('G')
c.copy_to(str(d), ws+'/up', recursive=True); c.copy_to(str(d/'g'), ws+'/one')
show('list', c.list_files()); show('list up', c.list_files(ws+'/up/tree')); show('list none', c.list_files(ws+'/nope'))
show('zip', sorted(zipfile.ZipFile(c.copy_from(ws+'/up')).namelist()))
try: c.copy_to(str(d/'g'), '/etc/x')
except Exception as e: show('outside', e)
from openhands.core.config.mcp_config import MCPStdioServerConfig
show('mcp', c.get_mcp_config([MCPStdioServerConfig(name='m', command='x')]))
c.session.headers.update({'X-Session-API-Key': 'wrong'})
try: c.list_files()
except Exception as e: show('wrong key', e)
c.close()
