"""Loads conversation directories with the real SDK and prints what it sees,
one line for each.

    /path/to/openhands/bin/python load.py DIRECTORY ID [DIRECTORY ID ...]
"""

import json
import sys
import uuid

from openhands.sdk.conversation.state import ConversationState
from openhands.sdk.workspace import LocalWorkspace

for directory, cid in zip(sys.argv[1::2], sys.argv[2::2]):
    state = ConversationState.create(
        id=uuid.UUID(cid),
        agent=None,
        workspace=LocalWorkspace(working_dir="/tmp"),
        persistence_dir=directory,
    )
    seen = {
        "events": [e.id for e in state.events],
        "branch": [e.id for e in state.active_branch()],
        "status": state.execution_status.value,
    }
    print("\nRESULT " + json.dumps(seen), flush=True)
