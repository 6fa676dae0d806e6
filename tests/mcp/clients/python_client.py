"""The Python SDK's client: python_client.py TARGET ERA, as sdk_clients.py says them."""
import json
import sys

import anyio
import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client


def text_of(result):
    return "".join(block.text for block in result.content if block.type == "text")


async def check(client, target, keeps_state):
    tools = (await client.list_tools()).tools
    assert len(tools) == 9, tools
    assert all(tool.input_schema["type"] == "object" for tool in tools)
    heard = []

    async def progress(value, total, message):
        heard.append(message)

    result = await client.call_tool("rlm_exec", {"code": "x = 6 * 7\nprint('told')\nx"},
                                    progress_callback=progress)
    assert not result.is_error and "told\n42" in text_of(result), result
    if keeps_state:
        assert "43" in text_of(await client.call_tool("rlm_exec", {"code": "x + 1"}))
        loaded = await client.call_tool("rlm_load", {"path": target["file"], "var_name": "note"})
        assert "Loaded" in text_of(loaded), loaded
        assert "(11 chars)" in text_of(loaded), loaded
    failed = await client.call_tool("rlm_exec", {"code": "1 / 0"})
    assert failed.is_error and "ZeroDivisionError" in text_of(failed), failed
    wrong = await client.call_tool("rlm_exec", {"code": 5})
    assert wrong.is_error, wrong
    with anyio.move_on_after(0.5):
        await client.call_tool("rlm_exec", {"code": "while True: pass", "timeout": 60})
    assert "2" in text_of(await client.call_tool("rlm_exec", {"code": "1 + 1"}))
    assert len((await client.list_prompts()).prompts) == 2
    assert (await client.list_resource_templates()).resource_templates


async def main():
    target, era = json.loads(sys.argv[1]), sys.argv[2]
    mode = "legacy" if era == "legacy" else "2026-07-28"
    if "url" in target:
        async with httpx2.AsyncClient(headers=target["headers"], timeout=60) as http:
            transport = streamable_http_client(target["url"], http_client=http)
            async with Client(transport, mode=mode) as client:
                await check(client, target, era == "legacy")
        return
    server = StdioServerParameters(command=target["command"], args=target["args"], env=target["env"],
                                   cwd=target["cwd"])
    async with Client(server, mode=mode) as client:
        await check(client, target, True)


anyio.run(main)
