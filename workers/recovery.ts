/** The operator command for recovery: `npm run recovery -- backup --out kit --recipient age1…`. */
import { text } from 'node:stream/consumers'
import { composeRecovery } from '../src/compose/recovery.ts'
import { recoveryCommand } from '../src/recovery/command/recovery-command.ts'

process.exitCode = await recoveryCommand(process.argv.slice(2), {
  ...composeRecovery(process.env),
  stdin: () => text(process.stdin),
  out: (line) => process.stdout.write(line),
  err: (line) => process.stderr.write(line),
})
