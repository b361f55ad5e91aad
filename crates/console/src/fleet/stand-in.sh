#!/bin/sh
# Stands in for brunt in tests: fleet --json --watch --wait TIME --fleet DIR. The file DIR/does says what becomes of the fleet; DIR/processes
# counts the processes.
eval "dir=\${$#}"
echo $$ >> "$dir/processes"
case "$(cat "$dir/does")" in
none) echo '{"trouble":{"en":"--fleet: there is no fleet","zh":"--fleet：没有机群"}}'; echo "brunt: --fleet: there is no fleet" >&2; exit 64 ;;
dies) cat "$dir/line"; echo "brunt: it broke" >&2; exit 70 ;;
esac
while cat "$dir/line"; do sleep 0.05; done
