#!/bin/sh
# Stands in for brunt in tests: KIND --record|--resume FILE … Writes its record and goes on until it is interrupted; resumed, it completes.
case "$*" in *wrong*) echo "brunt: --rate: \`wrong\` is not a rate; use 100/s" >&2; exit 64 ;; esac
case "$*" in *unreachable*) echo "brunt: nobody answers" >&2; exit 20 ;; esac
if [ "$2" = --resume ]; then
  echo "$*" >> "$3"
  exit 0
fi
trap 'exit 21' INT
echo "$*" > "$3"
while :; do sleep 0.02; done
