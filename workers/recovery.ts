/** The operator command for recovery: `npm run recovery -- backup --out kit --recipient age1…`. */
import { text } from 'node:stream/consumers'
import { runProgram } from '../src/cli/run-cli.ts'
import { composeRecovery } from '../src/compose/recovery.ts'
import { recoveryProgram } from '../src/recovery/command/recovery-program.ts'

await runProgram(recoveryProgram({ ...composeRecovery(process.env), stdin: () => text(process.stdin) }), process)
