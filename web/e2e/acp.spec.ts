// Another agent program as the agent of a conversation.
import { clean } from './axe';
import { confirming, expect, log, looks, panel, send, test } from './deft';

// program is an agent in Python: it says what it does, shows a plan, asks for a command, and ends.
const program = `
import json, subprocess, sys
def say(**m):
    print(json.dumps(dict(jsonrpc="2.0", **m)), flush=True)
def update(**u):
    say(method="session/update", params=dict(sessionId="s", update=u))
for line in sys.stdin:
    m = json.loads(line)
    if m.get("method") == "initialize":
        say(id=m["id"], result=dict(protocolVersion=1, agentCapabilities={}, authMethods=[]))
    elif m.get("method") == "session/new":
        say(id=m["id"], result=dict(sessionId="s"))
    elif m.get("method") == "session/prompt":
        prompt = m["id"]
        update(sessionUpdate="agent_message_chunk", content=dict(type="text", text="I look first."))
        update(sessionUpdate="plan", entries=[dict(content="Look", status="completed", priority="high"), dict(content="Mend it", status="pending", priority="high")])
        update(sessionUpdate="tool_call", toolCallId="c", title="\`echo hello\`", kind="execute", status="pending", rawInput=dict(command="echo hello"))
        say(id="q", method="session/request_permission", params=dict(sessionId="s", toolCall=dict(toolCallId="c"), options=[dict(optionId="y", name="Yes", kind="allow_once"), dict(optionId="n", name="No", kind="reject_once")]))
    elif m.get("id") == "q":
        yes = m["result"]["outcome"].get("optionId") == "y"
        text = subprocess.run(["echo", "hello"], capture_output=True, text=True).stdout if yes else "no"
        update(sessionUpdate="tool_call_update", toolCallId="c", status="completed" if yes else "failed", content=[dict(type="content", content=dict(type="text", text=text))])
        update(sessionUpdate="tool_call", toolCallId="d", title="Edit a.txt", kind="edit", status="completed", content=[dict(type="diff", path="/a.txt", oldText="one", newText="two")])
        update(sessionUpdate="agent_message_chunk", content=dict(type="text", text="All done."))
        say(id=prompt, result=dict(stopReason="end_turn"))
    elif "method" in m and "id" in m:
        say(id=m["id"], result={})
`;

test('its messages, plan, calls and questions are shown like those of Deft’s own agent', async ({ deft, page }) => {
  await deft.script([]);
  await deft.serve();
  await deft.open(page, { agent_settings_diff: { agent_kind: 'acp', acp_server: 'custom', acp_command: ['python3', '-c', program] }, conversation_settings_diff: { ...confirming.conversation_settings_diff, security_analyzer: null } });
  await page.goto(`${deft.url}/settings/models`);
  const agent = page.getByRole('region', { name: 'Agent' });
  await expect(agent.getByRole('textbox', { name: 'Command' })).toHaveValue(/^python3 -c/);
  await expect(page.getByRole('region', { name: 'Model', exact: true })).toBeHidden();
  await clean(page, 'the settings of an agent program');
  await agent.getByRole('textbox', { name: 'Model' }).fill('large');
  await agent.getByRole('button', { name: 'Save' }).click();
  await page.goto(deft.url);
  await send(page, 'Mend it');
  const asks = page.getByRole('region', { name: 'Confirmation' });
  await expect(asks).toContainText('echo hello');
  await expect(log(page).getByText('I look first.')).toBeVisible();
  await clean(page, 'an agent program that asks');
  await asks.getByRole('button', { name: 'Allow once' }).click();
  await expect(log(page).getByText('All done.')).toBeVisible();
  await expect(log(page).getByRole('button', { name: /Run.*echo hello/ })).toHaveCount(1);
  await log(page).getByRole('button', { name: /Run.*echo hello/ }).click();
  await expect(log(page).getByRole('group', { name: 'Output' })).toHaveText('hello');
  await expect(log(page).getByRole('button', { name: /Edit.*a.txt/ })).toBeVisible();
  await looks(page, 'acp');
  await panel(page, 'Plan').click();
  await expect(page.getByText('Mend it').last()).toBeVisible();
});
