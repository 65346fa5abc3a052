"""What a user's script does with DockerWorkspace: IMAGE NETWORK FOLDER. It is a process of its own, since the client
takes the server's key from its environment."""

import sys
from pathlib import Path

from openhands.sdk.workspace import RemoteWorkspace
from openhands.workspace import DockerWorkspace

image, network, folder = sys.argv[1:]
with DockerWorkspace(server_image=image, network=network, detach_logs=False, health_check_timeout=180) as ws:
    got = ws.execute_command("pwd; echo $0; cat /proc/1/cmdline | tr '\\0' ' '", cwd="/workspace")
    print(got.exit_code, got.stdout, got.stderr)
    up, down = Path(folder, "up.txt"), Path(folder, "down.txt")
    up.write_text("carried in\n")
    assert ws.file_upload(up, "/workspace/deep/up.txt").success
    assert ws.file_download("/workspace/deep/up.txt", down).success
    print(down.read_text())
    ws.pause()
    ws.resume()
    print("after the pause:", ws.execute_command("cat deep/up.txt", cwd="/workspace").stdout)
    other = RemoteWorkspace(host=ws.host, api_key="wrong", working_dir="/workspace")
    print("with a wrong key:", other.client.get("/api/conversations/search").status_code)
