"""Confirmation, pausing and interrupting."""

import time

from harness import (
    bash, calls, contains, equal, finish, kinds, last_message, observations, say, scenario, status, text_of,
)

from openhands.sdk.security.confirmation_policy import AlwaysConfirm, ConfirmRisky, NeverConfirm
from openhands.sdk.security.llm_analyzer import LLMSecurityAnalyzer


@scenario
def confirms(t):
    c = t.conversation(t.agent([bash("echo confirmed > proof"), finish()]))
    c.set_confirmation_policy(AlwaysConfirm())
    t.run(c, "write proof")
    equal(status(c), "waiting_for_confirmation")
    equal(observations(c), [])
    assert not (t.directory() / "proof").exists()
    t.run(c)  # running again confirms
    equal((t.directory() / "proof").read_text(), "confirmed\n")
    equal(status(c), "finished")
    equal(c.state.confirmation_policy, AlwaysConfirm())


@scenario
def rejects(t):
    c = t.conversation(t.agent([bash("touch proof"), say("Then not.")]))
    c.set_confirmation_policy(AlwaysConfirm())
    t.run(c, "write proof")
    equal(status(c), "waiting_for_confirmation")
    c.reject_pending_actions("not today")
    rejection = c.seen.wait_kind("UserRejectObservation")
    equal(rejection.rejection_reason, "not today")
    assert not (t.directory() / "proof").exists()
    t.run(c)
    equal(last_message(c), "Then not.")
    assert not (t.directory() / "proof").exists()


@scenario
def accepts_by_rest(t):
    c = t.conversation(t.agent([bash("touch proof"), finish()]))
    c.set_confirmation_policy(AlwaysConfirm())
    t.run(c, "write proof")
    t.rest("POST", f"/api/conversations/{c.id}/events/respond_to_confirmation", json={"accept": True}, status=200)
    c.seen.wait_status("finished")
    assert (t.directory() / "proof").exists()


@scenario
def confirms_what_is_risky(t):
    turns = [
        calls(("terminal", {"command": "echo harmless", "security_risk": "LOW"})),
        calls(("terminal", {"command": "echo dangerous", "security_risk": "HIGH"})),
        finish(),
    ]
    c = t.conversation(t.agent(turns))
    c.set_security_analyzer(LLMSecurityAnalyzer())
    c.set_confirmation_policy(ConfirmRisky())
    t.run(c, "go")
    equal(status(c), "waiting_for_confirmation")
    equal([text_of(o).strip().splitlines()[0] for o in observations(c)], ["harmless"])
    acts = [e for e in c.state.events[:] if type(e).__name__ == "ActionEvent"]
    equal([a.security_risk.value for a in acts], ["LOW", "HIGH"])
    reviews = [e for e in c.state.events[:] if type(e).__name__ == "SecurityAnalysisEvent"]
    equal([list(r.risks.values())[0].value for r in reviews], ["LOW", "HIGH"])
    equal(c.state.security_analyzer, LLMSecurityAnalyzer())
    c.set_confirmation_policy(NeverConfirm())
    t.run(c)
    equal(status(c), "finished")


@scenario
def pauses(t):
    turns = [bash("touch begun; sleep 0.5"), bash("touch second"), say("both ran")]
    c = t.conversation(t.agent(turns, script={"by_history": True}))  # the pause may happen during a call of the model
    t.run(c, "work", blocking=False)
    wait_for(t, "begun")
    c.pause()
    c.seen.wait_status("paused")
    c.seen.wait_kind("PauseEvent")
    assert not (t.directory() / "second").exists()
    t.run(c)
    c.seen.wait_status("finished")  # the client may take the end of the paused run for the end of this one
    equal(last_message(c), "both ran")
    assert (t.directory() / "second").exists()


@scenario(sandbox=False)
def pauses_when_idle(t):
    c = t.conversation(t.agent([say("after the pause")]))
    c.send_message("hello")
    c.pause()
    c.seen.wait_status("paused")
    t.run(c)
    c.seen.wait_status("finished")  # the client may take the end of the paused run for the end of this one
    equal(last_message(c), "after the pause")


@scenario
def interrupts_a_command(t):
    c = t.conversation(t.agent([bash("touch begun; sleep 600; touch never"), say("stopped, and going on")]))
    start = time.monotonic()
    t.run(c, "sleep", blocking=False)
    wait_for(t, "begun")
    c.interrupt()
    c.seen.wait_kind("InterruptEvent")
    c.seen.wait_status("paused")
    assert time.monotonic() - start < 30, "the command was waited for"
    t.run(c)
    c.seen.wait_status("finished")  # the client may take the end of the paused run for the end of this one
    equal(last_message(c), "stopped, and going on")
    assert not (t.directory() / "never").exists()
    names = kinds(c.state.events[:])
    answers = [e for e in c.state.events[:] if getattr(e, "tool_call_id", None) and type(e).__name__ != "ActionEvent"]
    equal(len(answers), 1, f"answers to the one call in {names}")


@scenario(sandbox=False)
def interrupts_the_model(t):
    # By text and not by number: on a busy machine the interrupt may come before the call.
    turns = [say("too late", latency="600s", match={"user": "think"}), say("the second answer", match={"user": "and now?"})]
    c = t.conversation(t.agent(turns))
    t.run(c, "think", blocking=False)
    c.seen.wait_status("running")
    c.interrupt()
    c.seen.wait_status("paused")
    t.run(c, "and now?")
    equal(last_message(c), "the second answer")


@scenario
def messages_during_a_run(t):
    """The agent reads a message sent during a run at its next step."""
    turns = [bash("touch begun; until [ -e go ]; do sleep 0.05; done"), say("read {{.LastUser}}"), say("read {{.LastUser}}")]
    c = t.conversation(t.agent(turns))
    t.run(c, "first", blocking=False)
    wait_for(t, "begun")
    c.send_message("second")
    (t.directory() / "go").touch()
    t.run(c)
    equal(last_message(c), "read second")
    contains(kinds(c.state.events[:]), "ObservationEvent")


def wait_for(t, name):
    from harness import eventually

    eventually(lambda: (t.directory() / name).exists(), f"the command writes {name}")
