/** The operator command: `npm run bursar -- --help`. */
import { runProgram } from '../src/cli/run-cli.ts'
import { bursarCommands } from '../src/compose/bursar.ts'

const description = 'Inspects and repairs the event log, the lanes and the queues of Bursar.'

await runProgram({ name: 'bursar', description, commands: await bursarCommands(process.env) }, process)
