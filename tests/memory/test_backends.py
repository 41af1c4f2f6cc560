"""`%memit -v` sizes all objects after a run without disturbing the process."""

from support.memory_cases import run_script

BESIDE_ASYNCIO = """
import asyncio
from nbprof.memory.backends import find_held

async def waits(future):
    await future

async def main():
    futures = [asyncio.get_running_loop().create_future() for _ in range(50)]
    tasks = [asyncio.create_task(waits(future)) for future in futures]
    await asyncio.sleep(0)  # every task now waits for its future
    for future in futures:
        future.set_result(1)
    await asyncio.gather(*tasks)
    find_held()
    for _ in range(50):
        await asyncio.gather(*[asyncio.create_task(asyncio.sleep(0)) for _ in range(10)])
        await asyncio.ensure_future(asyncio.sleep(0))

for _ in range(3):
    asyncio.run(main())
print("alive")
"""


def test_sizing_all_objects_does_not_crash_asyncio():
    done = run_script(BESIDE_ASYNCIO)

    assert done.stdout.strip() == "alive", done.stderr
