#!/usr/bin/env python3
"""A runner for Phonebooth with nothing but the standard library. docs/runners.md explains each part.

It works through the goal sentence by sentence and looks at the device before each. Where this says "act", a real one would ask
a model what to do, and do it.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

TASK = json.loads(Path(os.environ["PHONEBOOTH_INPUT"]).read_text(encoding="utf-8"))
ARTIFACTS = Path(os.environ["PHONEBOOTH_ARTIFACTS"])


class Stopped(Exception):
    """The host wants this runner to end: a cancellation, a timeout, a shutdown."""


def stop(number, frame):
    raise Stopped(signal.Signals(number).name)


def event(kind, **fields):
    """Tells whoever follows the task what goes on."""
    with open(os.environ["PHONEBOOTH_EVENTS"], "a", encoding="utf-8") as events:
        events.write(json.dumps({"type": kind, **fields}) + "\n")


def leave(outcome, message="", code="", outputs=None, result=None):
    """Leaves the result, whole or not at all. The first thing that tells how the task went is this file."""
    text = {"outcome": outcome, "message": message, "code": code, "outputs": outputs or {}, "result": result}
    path = Path(os.environ["PHONEBOOTH_RESULT"])
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(text), encoding="utf-8")
    draft.replace(path)


def look():
    """What is known of the device. ADB needs no -s here: the host shows this program the leased phone only."""
    if TASK["driver_type"] != "android":
        return TASK["serial"]
    seen = subprocess.run(["adb", "shell", "getprop", "ro.product.model"], capture_output=True, text=True, timeout=20, check=False)
    if seen.returncode != 0:
        raise ConnectionError(seen.stderr.strip() or "adb failed")
    return seen.stdout.strip()


def act(sentence, device):
    time.sleep(float(TASK.get("with", {}).get("pause", "0.1")))
    return f"{device}: {sentence}"


def main():
    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    sentences = [s for s in re.split(r"(?<=[.!?;])\s+|\n+", TASK["goal"].strip()) if s]
    diary, device = [], ""
    try:
        for number, sentence in enumerate(sentences):
            event("step", name=sentence[:200], status="started")
            device = look()
            diary.append(act(sentence, device))
            print(diary[-1], flush=True)
            event("step", name=sentence[:200], status="done")
            event("progress", percent=100 * (number + 1) / len(sentences))
            event("cost", input_tokens=len(sentence.split()), output_tokens=0, model="none")
    except Stopped as reason:
        print(f"stopped by {reason}: leaving the device as it is", flush=True)
        return 130
    except (ConnectionError, subprocess.TimeoutExpired) as reason:
        leave("abandoned", code="device_lost", message=str(reason))  # another device will be tried
        return 69
    finally:
        (ARTIFACTS / "diary.txt").write_text("\n".join(diary) + "\n", encoding="utf-8")
    leave("done", f"{len(diary)} sentences", outputs={"sentences": str(len(diary)), "device": device}, result={"diary": diary})
    return 0


if __name__ == "__main__":
    sys.exit(main())
