"""Loads a conversation directory with the real SDK and prints what it sees.

    /path/to/openhands/bin/python load.py DIRECTORY CONVERSATION_ID
"""

import json
import sys
import uuid

from openhands.sdk.conversation.state import ConversationState
from openhands.sdk.workspace import LocalWorkspace

directory, cid = sys.argv[1:]
state = ConversationState.create(
    id=uuid.UUID(cid),
    agent=None,
    workspace=LocalWorkspace(working_dir="/tmp"),
    persistence_dir=directory,
)
print(
    "RESULT "
    + json.dumps(
        {
            "events": [e.id for e in state.events],
            "branch": [e.id for e in state.active_branch()],
            "status": state.execution_status.value,
        }
    )
)
