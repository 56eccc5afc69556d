/** The operator command: `npm run bursar -- --help`. */
import { runCli } from '../src/cli/run-cli.ts'
import { composeBursar } from '../src/compose/bursar.ts'

process.exitCode = await runCli(
  {
    name: 'npm run bursar --',
    description: "What an operator asks of Bursar's log, its lanes and its queues.",
    commands: composeBursar(process.env),
    out: process.stdout,
    err: process.stderr,
    env: process.env,
  },
  process.argv.slice(2),
)
