#!/bin/sh
# A runner for Phonebooth in POSIX shell. docs/runners.md explains each part. It repeats its goal a few times, which
# stands for the work, and never lets a shell read it: a goal is text from somebody else.
set -eu

event() { printf '%s\n' "$1" >>"$PHONEBOOTH_EVENTS"; }

# The host asks once to stop, and kills soon after.
trap 'echo "stopped"; exit 130' INT TERM

times=${PHONEBOOTH_WITH_TIMES:-3}
case $times in
'' | *[!0-9]*)
	printf '{"outcome":"failed","code":"invalid_task","message":"times must be a number"}\n' >"$PHONEBOOTH_RESULT"
	exit 2
	;;
esac

event '{"type":"step","name":"repeat the goal"}'
n=0
while [ "$n" -lt "$times" ]; do
	n=$((n + 1))
	printf '%s: %s\n' "$PHONEBOOTH_SERIAL" "$PHONEBOOTH_GOAL" | tee -a "$PHONEBOOTH_ARTIFACTS/said.txt"
	event "{\"type\":\"progress\",\"percent\":$((100 * n / times))}"
	sleep 0.1
done
event '{"type":"step","name":"repeat the goal","status":"done"}'

# Outputs can be lines of this file, so that values need no quotes; those of the result go before them.
printf 'said=%s times\n' "$n" >>"$PHONEBOOTH_OUTPUTS"
printf '{"outcome":"done","message":"said %d times","outputs":{"times":"%d"}}\n' "$n" "$n" >"$PHONEBOOTH_RESULT.draft"
mv "$PHONEBOOTH_RESULT.draft" "$PHONEBOOTH_RESULT"
