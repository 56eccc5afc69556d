/** The operator command: `npm run bursar -- --help`. */
import { runProgram } from '../src/cli/run-cli.ts'
import { composeBursar } from '../src/compose/bursar.ts'

const description = "What an operator asks of Bursar's log, its lanes and its queues."

await runProgram({ name: 'bursar', description, commands: composeBursar(process.env) }, process)
